import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

t.test("another program's lock is waited for while everything else goes on, but not for ever", async t => {
  const path = join(t.testdir(), 'a.db')
  const errors: unknown[] = []
  const stores = await openSqlite({ path, synchronous: 'normal', onError: (...error) => errors.push(error) })
  t.teardown(() => stores.close())
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  let longest = 0
  let last = performance.now()
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  t.teardown(() => clearInterval(beat))
  const write = (n: number) => stores.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
  const first = write(1)
  await new Promise(resolve => setTimeout(resolve, 400))
  t.equal(await stores.sessions.get('k'), undefined, 'reads do not wait')
  const second = write(2)
  other.exec('COMMIT')
  await Promise.all([first, second])
  t.strictSame(errors, [])
  t.equal((await stores.sessions.get('k'))?.turns, 2)

  other.exec('BEGIN IMMEDIATE')
  await t.rejects(write(3), { code: 'store_unavailable' })
  t.match(errors, [['write', { message: /locked/ }]], 'told once')
  other.exec('COMMIT')
  other.close()
  await write(4)
  t.equal((await stores.sessions.get('k'))?.turns, 3)
  t.ok(longest < 500, `the longest pause was ${longest} ms`)
})
