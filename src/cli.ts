#!/usr/bin/env node
/** The program: `loopgate serve | check | cases | backup | restore | help`. */
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
  start: async options => (await import('./server.ts')).serve(options),
  backup: async (database, file) => {
    const { snapshot } = await import('./stores/sqlite/snapshot.ts')
    snapshot(database, file)
    return `${database} was copied to ${file}. The key file (secrets.key_file) is not in it: keep that apart.`
  },
  restore: async (database, file) => {
    const { restore } = await import('./stores/sqlite/restore.ts')
    const aside = restore(database, file)
    const before = aside === undefined ? '' : ` What was there is ${aside} now.`
    return `${database} is as in ${file}.${before} It needs the key file (secrets.key_file) that it was made with.`
  }
})
// A gateway that listens lives on; whatever failed may have left something open that must not keep the process.
if (code !== 0) process.exit(code)
