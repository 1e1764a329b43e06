/**
 * `npm run openapi [-- --check]`: writes openapi.yaml from the schemas that the routes check with. With --check it
 * writes nothing and fails when the file is stale.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiText } from './openapi/api-text.ts'

const FILE = 'openapi.yaml'
const folder = mkdtempSync(join(tmpdir(), 'loopgate-openapi-'))
try {
  const text = await apiText(folder)
  const written = existsSync(FILE) ? readFileSync(FILE, 'utf8') : undefined
  if (written !== text) {
    if (process.argv.includes('--check')) {
      console.error(`${FILE} is stale: run \`npm run openapi\``)
      process.exitCode = 1
    } else {
      writeFileSync(FILE, text)
      console.log(`wrote ${FILE}`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
