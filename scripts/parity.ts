/**
 * `node scripts/parity.ts [docs/parity.md]`: runs the files of tests that the table of parity names, and checks that
 * each named test is there, ran and asserted something, that no row is missing, and that each row without a test says
 * why. `npm test` checks the same of the tests it runs anyway.
 */
import { existsSync, readFileSync } from 'node:fs'
import { run } from 'node:test'
import { parityProblems } from './parity/problems.ts'
import { RanTests } from './parity/ran-tests.ts'
import { parityRows } from './parity/rows.ts'

const [path = 'docs/parity.md'] = process.argv.slice(2)
const rows = parityRows(readFileSync(path, 'utf8')).sections.flatMap(section => section.rows)
const files = new Set(rows.flatMap(({ tests }) => tests.map(({ file }) => file)).filter(file => existsSync(file)))

const ran = new RanTests()
if (files.size > 0) {
  for await (const { type, data } of run({ files: [...files], concurrency: 2, timeout: 300_000 })) {
    if (type === 'test:pass') ran.pass(data)
    else if (type === 'test:fail') ran.fail(data)
  }
}

const problems = parityProblems(path, ran)
for (const problem of problems) console.log(problem)
const held = rows.filter(({ tests }) => tests.length > 0).length
console.log(`${rows.length} rows, ${held} held by tests in ${files.size} files, ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0
