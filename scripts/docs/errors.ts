import { globSync, readFileSync } from 'node:fs'
import { ERRORS } from '../../src/core/errors.ts'

/** docs/reference/errors.md: the codes a client can meet, which are those that something in src/ names. */
export function errorsPage(): string {
  const product = globSync('src/**/*.ts', { exclude: ['src/core/errors.ts', 'src/{cases,bench,laws}/**'] })
  const source = product.map(file => readFileSync(file, 'utf8')).join('\n')
  const rows = Object.entries(ERRORS)
    .filter(([code]) => code !== 'client_closed' && source.includes(`'${code}'`))
    .map(([code, row]) => {
      const retry = 'retry' in row ? String(row.retry) : '–'
      return `| \`${code}\` | ${row.status} | \`${row.openai}\` | ${retry} |`
    })
  return `# Errors

<!-- Written by \`npm run docs\` from src/core/errors.ts. -->

Every error body is \`{"error": {"message", "type", "param", "code"}}\`. Decide by \`code\`; the message is for people and
says what to do where that is known. \`x-should-retry\` tells an SDK whether to try again; it is always \`false\` once a
tool has run in the turn. An error after the head of a stream comes as a frame with the same object, and the stream then
closes without \`[DONE]\`. A client that left shows as status 499 in the run view and in metrics.

| code | status | type | x-should-retry |
|---|---|---|---|
${rows.join('\n')}
`
}
