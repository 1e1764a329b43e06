/**
 * `npm test [-- files…]`: runs the tests and prints, last and alone, `N passed, N failed, N skipped`.
 *
 * A test is skipped only for want of a program (`test/helper/want.ts`). Programs that are missing are installed first
 * where that is possible: as root, with apt-get. With LOOPGATE_TEST_REQUIRE=all a skip is a failure. A whole run also
 * checks `docs/parity.md`: each of its rows that is not held by a test that ran is a failure.
 */
import { spawnSync } from 'node:child_process'
import { run } from 'node:test'
import { isThere, PROGRAMS, type Program } from '../test/helper/programs.ts'
import { parityProblems } from './parity/problems.ts'
import { RanTests } from './parity/ran-tests.ts'
import { testReport } from './test-report.ts'
import { TestTally } from './test-tally.ts'

// A client test makes a Python environment at its first run; nothing else takes nearly as long.
const TIMEOUT_MS = 300_000
if (!process.stdout.isTTY) process.env.NO_COLOR = '1'
process.env.TAP_TIMEOUT = String(TIMEOUT_MS / 1000)

const chosen = process.argv.slice(2)
if (chosen.length === 0) installWhatIsMissing()

const tally = new TestTally()
const tests = run({
  globPatterns: chosen.length > 0 ? chosen : ['test/**/*.test.ts'],
  concurrency: 2,
  timeout: TIMEOUT_MS
})
const ran = new RanTests()
await testReport(tests, tally, ran)

const { passed, skipped, wanting, idle, ...result } = tally.result({
  skipFails: process.env.LOOPGATE_TEST_REQUIRE === 'all'
})
const unheld = chosen.length === 0 ? parityProblems('docs/parity.md', ran) : []
const failed = result.failed + unheld.length
for (const problem of unheld) console.log(`failed, of docs/parity.md: ${problem}`)
for (const title of idle) console.log(`failed, for it was skipped and not for want of a program: ${title}`)
if (wanting.length > 0) console.log(`skipped for want of: ${wanting.join(', ')}`)
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

function installWhatIsMissing(): void {
  const missing = (Object.keys(PROGRAMS) as Program[]).filter(program => !isThere(program))
  const allowed = process.getuid?.() === 0 && spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0
  if (missing.length === 0 || !allowed) return
  console.log(`installing by apt-get, for the tests: ${missing.join(', ')}`)
  const packages = missing.flatMap(program => PROGRAMS[program].packages)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const aptGet = (...parameters: string[]) => spawnSync('apt-get', ['-qq', ...parameters], { stdio: 'ignore', env })
  aptGet('update')
  if (aptGet('install', '-y', '--no-install-recommends', ...packages).status !== 0) console.log('that failed')
}
