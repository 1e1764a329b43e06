#!/usr/bin/env node
/** The program: `loopgate serve | check | cases | help`. */
import { run } from './cli/run.ts'
import { version } from './version.ts'

const code = await run(process.argv.slice(2), {
  version,
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
  start: async options => (await import('./server.ts')).serve(options)
})
// A gateway that listens lives on; whatever failed may have left something open that must not keep the process.
if (code !== 0) process.exit(code)
