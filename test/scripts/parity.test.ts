import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parityProblems } from '../../scripts/parity/problems.ts'
import { parityRows } from '../../scripts/parity/rows.ts'

const TABLE = 'docs/parity.md'
const tap = import.meta.resolve('tap')
/** Tests of every kind; rows are held against these. */
const TESTS = `import t from '${tap}'
import { holds } from './holds.ts'
t.test('holds by a helper', async t => { holds(t, 'and a test of its own') })
t.test('holds', async t => { t.equal(1, 1) })
t.test('has | a bar', async t => { t.equal(1, 1) })
t.test('around', async t => {
  t.test('inside', async t => { t.equal(1, 1) })
  t.test('empty inside', async t => {})
})
t.test('asserts nothing', async t => {})
t.test('only a skipped assertion', async t => { t.pass('x', { skip: 'later' }) })
t.test('is skipped', { skip: 'later' }, async t => { t.pass() })
t.test('is planned', async t => { t.todo('later') })
t.test('fails', async t => { t.equal(1, 1); t.equal(1, 2) })
t.test('is there twice', async t => { t.equal(1, 1) })
t.test('is there twice', async t => {})
t.equal(1, 1, 'a bare assertion')
`

/** Asserts from another file. */
const HELPER = 'export const holds = (t, title) => t.test(title, async t => { t.equal(1, 1) })'

/** Runs the script on a table of one section; what it printed, and its exit code. */
function checked(t: Test, count: number, rows: readonly string[]) {
  const folder = t.testdir({ 'planted.test.ts': TESTS, 'holds.ts': HELPER, 'parity.md': planted(count, rows) })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = new URL('../../scripts/parity.ts', import.meta.url).pathname
  const { stdout, status } = spawnSync(process.execPath, [script, 'parity.md'], { cwd: folder, env, encoding: 'utf8' })
  return { lines: stdout.trimEnd().split('\n'), status }
}

function planted(count: number, rows: readonly string[]): string {
  return ['# Parity', '', `## 2.1 Planted: ${count} rows`, '', '| | | | |', '|---|---|---|---|', ...rows, ''].join('\n')
}

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('rows that are held by tests, or say why they are not, are well', async t => {
  const { lines, status } = checked(t, 4, [
    '| 2.1.1 | one | `planted.test.ts`: holds | that it holds |',
    '| 2.1.2 | two | `planted.test.ts`: has \\| a bar<br>`planted.test.ts`: around | that it has |',
    '| 2.1.3 | three | `planted.test.ts`: inside<br>`planted.test.ts`: holds by a helper | that it is inside |',
    '| 2.1.4 | four | none | There is no such thing as four here. |'
  ])
  t.strictSame(lines, ['4 rows, 3 held by tests in 1 files, 0 problems'])
  t.equal(status, 0)
})

t.test('each row that nothing holds is found, and why', async t => {
  const titles = [
    'asserts nothing',
    'only a skipped assertion',
    'is skipped',
    'is planned',
    'fails',
    'is there twice',
    'empty inside',
    'holds not',
    'a bare assertion'
  ]
  const rows = titles.map((title, n) => `| 2.1.${n + 1} | x | \`planted.test.ts\`: ${title} | that it is |`)
  const { lines, status } = checked(t, 16, [
    ...rows,
    '| 2.1.10 | x | `gone.test.ts`: holds | that it is |',
    '| 2.1.11 | x | none | |',
    '| 2.1.12 | x | none | Why not. |',
    '| 2.1.13 | x | `planted.test.ts`: holds | |',
    '| 2.1.14 | x | planted.test.ts: holds | that it is |',
    '| 2.1.16 | x | `planted.test.ts`: holds<br>`planted.test.ts`: asserts nothing | that it is |'
  ])
  const of = (n: number, problem: string) => `2.1.${n}: ${problem} in planted.test.ts: ${titles[n - 1]}`
  t.strictSame(
    lines.slice(0, -1).toSorted(),
    [
      'cannot be read: | 2.1.14 | x | planted.test.ts: holds | that it is |',
      '2.1.14 is missing',
      '2.1.15 is missing',
      of(1, 'skipped'),
      of(2, 'asserted nothing'),
      '2.1.3: no test of this title ran in planted.test.ts: is skipped',
      of(4, 'asserted nothing'),
      of(5, 'failed'),
      of(6, 'skipped'),
      of(7, 'skipped'),
      '2.1.8: no test of this title ran in planted.test.ts: holds not',
      '2.1.9: no test of this title ran in planted.test.ts: a bare assertion',
      '2.1.10: there is no gone.test.ts',
      '2.1.11 has neither a test nor a reason',
      '2.1.12 has neither a test nor a reason',
      '2.1.13: it does not say what its tests assert',
      '2.1.16: skipped in planted.test.ts: asserts nothing'
    ].toSorted()
  )
  t.equal(status, 1)
})

t.test('rows stand once each, in their section, and none is beyond its count', async t => {
  const row = (number: string) => `| ${number} | x | none | There is no such thing here. |`
  const path = `${t.testdir({ 'parity.md': planted(2, ['2.1.1', '2.1.1', '2.2.1', '2.1.3'].map(row)), 'none.md': '' })}/`
  t.strictSame(parityProblems(`${path}parity.md`), [
    '2.1.2 is missing',
    '2.2.1 is beyond the 2 of 2.1',
    '2.1.3 is beyond the 2 of 2.1',
    '2.1.1 is there twice'
  ])
  t.strictSame(parityProblems(`${path}none.md`), [`${path}none.md has no section`])
})

t.test('a whole run of the tests checks the table by the tests it ran', async t => {
  const folder = t.testdir({
    test: { 'planted.test.ts': `import t from '${tap}'\nt.test('holds', async t => { t.equal(1, 1) })\n` },
    docs: {
      'parity.md': planted(2, [
        '| 2.1.1 | one | `test/planted.test.ts`: holds | that it holds |',
        '| 2.1.2 | two | `test/planted.test.ts`: holds not | that it does not |'
      ])
    }
  })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = new URL('../../scripts/test.ts', import.meta.url).pathname
  const { stdout, status } = spawnSync(process.execPath, [script], { cwd: folder, env, encoding: 'utf8' })
  t.strictSame(stdout.trimEnd().split('\n').slice(-2), [
    'failed, of docs/parity.md: 2.1.2: no test of this title ran in test/planted.test.ts: holds not',
    '1 passed, 1 failed, 0 skipped'
  ])
  t.equal(status, 1)
})

t.test('the table has all rows; each names files that are there, or a reason', async t => {
  t.strictSame(parityProblems(TABLE), [])
  const counts = parityRows(readFileSync(TABLE, 'utf8')).sections.map(({ number, count }) => [number, count])
  t.strictSame(Object.fromEntries(counts), {
    '2.1': 23,
    '2.2': 16,
    '2.3': 22,
    '2.4': 21,
    '2.5': 24,
    '2.6': 25,
    '2.7': 12,
    '2.8': 14,
    '2.10': 16,
    '2.11': 8
  })
})
