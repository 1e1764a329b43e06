/**
 * `npm run test:crash -- [--kills 200] [--seed 1]`: kills the gateway with SIGKILL again and again, at random times and at
 * named steps, under the load of clients that retry as SDKs do; then holds what its store says against what the world
 * saw. Exit code 1 when anything is broken.
 */
import { parseArgs } from 'node:util'
import { crash } from './crash.ts'

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } })
const kills = Number(values.kills ?? 200)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
if (!Number.isSafeInteger(kills) || kills < 1 || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run test:crash -- [--kills <number>] [--seed <number>]')
  process.exit(2)
}
console.log(`seed ${seed}`)
const { broken, ...figures } = await crash({ kills, seed })
for (const each of broken) console.log(`broken: ${each}`)
console.log(JSON.stringify(figures))
console.log(`${figures.kills} kills, ${broken.length} violations`)
process.exitCode = broken.length > 0 ? 1 : 0
