/**
 * `npm run docs [-- --check]`: writes docs/reference/ from the sources: options from the schema of the configuration,
 * errors from their table, metrics from their registry. With --check it writes nothing and fails when a page is stale.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { configurationPage } from './docs/configuration.ts'
import { errorsPage } from './docs/errors.ts'
import { metricsPage } from './docs/metrics.ts'

const pages = { configuration: configurationPage(), errors: errorsPage(), metrics: metricsPage() }
let isStale = false

for (const [name, text] of Object.entries(pages)) {
  const file = `docs/reference/${name}.md`
  const written = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (written === text) continue
  if (process.argv.includes('--check')) {
    isStale = true
    console.error(`${file} is stale: run \`npm run docs\``)
  } else {
    writeFileSync(file, text)
    console.log(`wrote ${file}`)
  }
}
process.exitCode = isStale ? 1 : 0
