import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'

const tap = import.meta.resolve('tap')

/** Runs `npm test` on one file of the given text; its last two lines and its exit code. */
function closing(t: Test, text: string, env: Record<string, string> = {}) {
  const folder = t.testdir({ 'of.test.ts': `import t from '${tap}'\n${text}\n` })
  const { NODE_TEST_CONTEXT: _, ...outside } = process.env
  const { stdout, status } = spawnSync(process.execPath, ['scripts/test.ts', `${folder}/of.test.ts`], {
    env: { ...outside, LOOPGATE_TEST_REQUIRE: '', ...env },
    encoding: 'utf8'
  })
  return { lines: stdout.trimEnd().split('\n').slice(-2), status }
}

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('the closing line counts tests, and the line before it names what was wanting', async t => {
  const text =
    "t.test('a', async t => { t.pass(); t.pass() }); t.test('b', { skip: 'for want of cobol' }, async () => {})"
  t.strictSame(closing(t, text), { lines: ['skipped for want of: cobol', '2 passed, 0 failed, 1 skipped'], status: 0 })
  const required = closing(t, text, { LOOPGATE_TEST_REQUIRE: 'all' })
  t.strictSame([required.lines[1], required.status], ['2 passed, 1 failed, 1 skipped', 1])
})

t.test('a failure, a crash and an idle skip each fail the run', async t => {
  const failed = closing(t, "t.test('a', async t => { t.pass(); t.equal(1, 2) })")
  t.strictSame([failed.lines[1], failed.status], ['1 passed, 1 failed, 0 skipped', 1])
  const crashed = closing(t, "throw new Error('no')")
  t.match(crashed.lines[1], /^0 passed, [1-9] failed, 0 skipped$/)
  t.equal(crashed.status, 1)
  const idle = closing(t, "t.test('a', async t => { t.pass() }); t.test('b', { skip: 'later' }, async () => {})")
  t.strictSame([idle.lines[1], idle.status], ['1 passed, 1 failed, 0 skipped', 1])
  const todo = closing(t, "t.test('a', async t => { t.pass(); t.todo('more') })")
  t.strictSame([todo.lines[1], todo.status], ['1 passed, 1 failed, 0 skipped', 1])
})

t.test('npm test and the continuous run are the same command', async t => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(scripts.test, 'node scripts/test.ts')
  t.match(readFileSync('.ci/run', 'utf8').trimEnd().split('\n').at(-1), /^LOOPGATE_TEST_REQUIRE=all npm test$/)
})
