import t from 'tap'
import { figuresOf } from '../../src/cases/tool-search/figures.ts'
import { toolSearchKind } from '../../src/cases/tool-search/kind.ts'
import { runToolSearchCases } from '../../src/cases/tool-search/run.ts'

const tools = [
  { name: 'mail_send', description: 'Send a mail', parameters: { type: 'object' } },
  { name: 'mail_search', description: 'Search the mailbox' },
  { name: 'clock_now', description: 'Present date and time' },
  { name: 'roomList', description: 'List the meeting rooms' }
]
const office = {
  tools,
  queries: [
    { q: 'send mail', relevant: ['mail_send'], kind: 'search' },
    { q: 'time', relevant: ['roomList'], kind: 'search' },
    { searches: ['date', 'rooms'], relevant: ['clock_now', 'roomList'], kind: 'session' }
  ]
}
const borrowed = { toolsFrom: 'office.json', queries: [{ q: 'meeting', relevant: ['roomList'], kind: 'step' }] }
const right = {
  office: { search: { r1: 50, mrr: 50 }, session: { sr5: 100, sc5: 100 }, probe: { exact1: 100 } },
  borrowed: { step: { r1: 100 } },
  mixed: { step: { r1: 0 } }
}
const json = (value: unknown) => JSON.stringify(value)

t.test('figures are shares of the relevant tools found, averaged over the queries of a kind', async t => {
  const query = (kind: string, relevant: string[], isSession = false) => ({ kind, relevant, isSession, texts: [] })
  const figures = figuresOf(
    new Map([
      [query('search', ['a']), [['x', 'a']]],
      [query('search', ['a', 'b']), [['b', 'x', 'x', 'x', 'a']]],
      [query('search', ['a', 'b']), [['x', 'x', 'x', 'x', 'x', 'a']]],
      [
        query('session', ['a', 'b'], true),
        [
          ['x', 'a'],
          ['x', 'x', 'x', 'b']
        ]
      ]
    ])
  )
  t.strictSame(figures.search, { r1: 16.7, r3: 50, r5: 66.7, r10: 83.3, mrr: 55.6, c5: 50 })
  t.strictSame(figures.session, { sr3: 50, sr5: 100, sr10: 100, sc5: 100 })
})

t.test('files are played against a started gateway and held against their floors', async t => {
  const folder = t.testdir({
    'office.json': json(office),
    'borrowed.json': json(borrowed),
    'strict.json': json(office),
    'unknown.json': json(office),
    'floors.json': json({
      ...right,
      strict: { search: { r1: 50.1, r5: 40 }, other: { r1: 1 } },
      missing: { search: { r1: 1 } }
    })
  })
  const lines: string[] = []
  const result = await runToolSearchCases(folder, { print: line => void lines.push(line) })
  t.strictSame(result, { passed: 3, failed: 3 })
  t.strictSame(
    lines.filter(line => /^(ok|FAIL)/.test(line)),
    [
      'ok tool-search borrowed',
      'ok tool-search office',
      'FAIL tool-search strict: search R@1 50.0, floor 50.1; other R@1 was not measured, floor 1.0',
      'FAIL tool-search unknown: there are no floors for it in a floors.json beside it',
      'ok tool-search mixed',
      'FAIL tool-search missing: floors.json names missing, but the folder has no missing.json'
    ]
  )
  t.ok(lines.includes('office search  R@1 50.0  R@3 50.0  R@5 50.0  R@10 50.0  MRR 50.0'))
  t.ok(lines.includes('office probe  own name first 100.0  name as words in top 5 100.0  five names in top 5 100.0'))
  t.match(lines.at(-1), /^macro step {2}R@1 /)

  const chosen: string[] = []
  await runToolSearchCases(folder, { only: ['office'], json: true, print: line => void chosen.push(line) })
  t.match(
    chosen.map(line => JSON.parse(line)),
    [
      { kind: 'tool-search', id: 'office', ok: true, differs: [], figures: { search: { r1: 50 } } },
      { kind: 'tool-search', macro: { search: { r1: 50 } } }
    ]
  )
  t.equal(chosen.length, 2)
})

t.test('a folder without floors fails, and so does one without cases', async t => {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const bare = t.testdir({ cases: { 'office.json': json(office) }, empty: {} })
  t.strictSame(await runToolSearchCases(`${bare}/empty`, { print }), { passed: 0, failed: 1 })
  t.strictSame(await runToolSearchCases(`${bare}/cases`, { print }), { passed: 0, failed: 2 })
})

t.test('a floor that is made wrong is seen', async t => {
  const one = { id: 'office', floors: right.office }
  const figures = { search: { r1: 50, mrr: 50 }, session: { sr5: 100, sc5: 100 }, probe: { exact1: 100 } }
  t.strictSame(toolSearchKind.judge(one, figures), [])
  const falsified = toolSearchKind.falsified(one)
  t.equal(falsified.length, 5)
  for (const { path, case: wrong } of falsified) t.equal(toolSearchKind.judge(wrong, figures).length, 1, path)
})

t.test('a file that is no such case is named', async t => {
  const folder = t.testdir({ 'odd.json': json({ queries: [{ kind: 'search' }] }), 'floors.json': '{}' })
  await t.rejects(runToolSearchCases(folder, { print() {} }), /odd\.json is no file of tool-search cases/)
})
