import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { CaseKind } from '../src/cases/case-kind.ts'
import { failuresOf } from '../src/cases/failures-of.ts'
import { loop } from '../src/cases/loop/kind.ts'
import { drawn, type Mutant, mutantsOf } from '../src/cases/mutants.ts'
import { playAll } from '../src/cases/play-all.ts'
import { wire } from '../src/cases/wire/kind.ts'

type Failures = Record<'wire' | 'loop', Record<string, string>>

const text = (file: string) => readFileSync(file, 'utf8')
/** Cases that cannot pass yet, each with the reason. One of them that passes has to be taken off the list. */
const expected: Failures = JSON.parse(text('test/cases/expected-failures.json'))
const mutants: Mutant[] = []

async function failing<Case extends { readonly id: string }, Observation>(kind: CaseKind<Case, Observation>) {
  const failed: Record<string, readonly string[]> = {}
  const cases = await kind.read(`test/cases/${kind.name}`, {})
  await playAll(kind, cases, played => {
    const failures = failuresOf(kind, played)
    if (failures.length > 0) failed[played.case.id] = failures
    mutants.push(...mutantsOf(kind, played))
  })
  return { count: cases.length, failed }
}

for (const kind of ['wire', 'loop'] as const) {
  t.test(`exactly the ${kind} cases fail that cannot pass yet`, async t => {
    const { count, failed } = await (kind === 'wire' ? failing(wire) : failing(loop))
    t.ok(count > 90, 'all cases were found')
    const unexpected = Object.entries(failed).filter(([id]) => expected[kind][id] === undefined)
    t.strictSame(Object.fromEntries(unexpected), {}, 'no other case fails')
    const passing = Object.keys(expected[kind]).filter(id => failed[id] === undefined)
    t.strictSame(passing, [], 'no case of the list passes')
  })
}

t.test('of 200 expected values that are made wrong, one at a time, at least 99 % make their case fail', async t => {
  const sample = drawn(mutants, 200, 2026)
  t.equal(sample.length, 200)
  t.ok(new Set(sample.map(({ id }) => id)).size > 50, 'they are spread over the cases')
  const survived = sample.filter(mutant => mutant.survives()).map(({ kind, id, path }) => `${kind} ${id} ${path}`)
  t.ok(survived.length <= 2, `survived: ${survived.join(', ')}`)
  t.strictSame(
    mutants
      .filter(one => one.reason === undefined && one.survives())
      .map(({ kind, id, path }) => `${kind} ${id} ${path}`),
    [],
    'none of all of them survives without a known reason'
  )
})

const run = (...args: string[]) =>
  new Promise<{ code: unknown; lines: string[] }>(resolve =>
    execFile(process.execPath, ['src/cli.ts', 'cases', ...args], (error, stdout) =>
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') })
    )
  )

t.test('the runner prints a line a case, the sum last, and exits 1 when one failed', async t => {
  const good = text('test/cases/wire/004-crlf-lines.json')
  const folder = t.testdir({
    '001-good.json': good,
    '002-broken.json': good.replace('"text": "ab"', '"text": "abc"'),
    '003-unknown.json': good.replace('"sendsDone"', '"sendsDoneAndMore"'),
    '004-no-case.json': '{}',
    'README.md': 'no case'
  })
  const { code, lines } = await run('wire', folder)
  t.equal(code, 1)
  t.match(lines, [
    'ok wire 001-good',
    'FAIL wire 002-broken: text: "ab" where "abc" was expected',
    'FAIL wire 003-unknown: sendsDoneAndMore: the runner does not know this field',
    /^FAIL wire 004-no-case: /,
    '1 passed, 3 failed'
  ])
  const one = await run('wire', folder, '--only', '001', '--json')
  t.equal(one.code, 0)
  t.strictSame(
    one.lines.map(line => JSON.parse(line)),
    [
      { kind: 'wire', id: '001-good', ok: true, differs: [] },
      { kind: 'wire', passed: 1, failed: 0 }
    ]
  )
  t.equal((await run('wire', folder, '--only', '999')).code, 1, 'nothing played is nothing proved')
})

t.test('loop cases are held against the file of expectations, by default the one beside their folder', async t => {
  const name = '002-one-tool-call'
  const { [name]: overlay } = JSON.parse(text('test/cases/loop-expectations.json'))
  const wrong = structuredClone(overlay)
  wrong.expect.turns[0].usage.total_tokens = 117
  const folder = t.testdir({
    loop: { [`${name}.json`]: text(`test/cases/loop/${name}.json`) },
    'loop-expectations.json': JSON.stringify({ [name]: wrong }),
    'right.json': JSON.stringify({ [name]: overlay })
  })
  const beside = await run('loop', `${folder}/loop`)
  t.equal(beside.code, 1)
  t.match(beside.lines, [/^FAIL loop 002-one-tool-call: turn 1, usage: .*117/, '0 passed, 1 failed'])
  const named = await run('loop', `${folder}/loop`, '--expect', `${folder}/right.json`, '--mode', 'stream')
  t.strictSame(named, { code: 0, lines: [`ok loop ${name}`, '1 passed, 0 failed'] })
})
