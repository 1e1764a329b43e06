#!/usr/bin/env node
/** The program: `loopgate serve | check | cases | help`. */
import { setFlagsFromString } from 'node:v8'
import { run } from './cli/run.ts'
import { version } from './version.ts'

// Listener lists that Node copies for each event are put among the old objects by V8 once a few survived a collection,
// and all they refer to with them: every request then outlives its end until a full collection (7.4 kB; 0.4 without).
setFlagsFromString('--no-allocation-site-pretenuring')

const code = await run(process.argv.slice(2), {
  version,
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
  start: async options => (await import('./server.ts')).serve(options)
})
// A gateway that listens lives on; whatever failed may have left something open that must not keep the process.
if (code !== 0) process.exit(code)
