import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { endsWithUs } from '../src/cases/ends-with-us.ts'

// Each run of the command is a process with a gateway, on a machine that may be busy with others.
t.setTimeout(180_000)

const text = (file: string) => readFileSync(file, 'utf8')

const run = (...args: string[]) =>
  new Promise<{ code: unknown; lines: string[] }>(resolve =>
    endsWithUs(
      execFile(process.execPath, ['src/cli.ts', 'cases', ...args], (error, stdout) =>
        resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') })
      ),
      'SIGTERM'
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
