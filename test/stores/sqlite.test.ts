import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { endsWithUs } from '../../src/cases/ends-with-us.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { sweeper } from '../../src/stores/sweeper.ts'
import { silent } from '../helper/turn.ts'
import { aSession, aStoredTurn, owner, storeContract } from './contract.ts'
import { aHeldBatch } from './contract-calls.ts'

async function opened(t: Test, path: string) {
  const stores = await openSqlite({ path, synchronous: 'normal' })
  t.teardown(() => stores.close())
  return stores
}

/** A process of its own that opens the database and writes turns as fast as it can, naming each that is safe. */
function writer(path: string): { child: ChildProcess; lines: AsyncIterable<string> } {
  const program = `
    import { openSqlite } from ${JSON.stringify(join(import.meta.dirname, '../../src/stores/sqlite/open.ts'))}
    import { aSession, aStoredTurn, owner } from ${JSON.stringify(join(import.meta.dirname, 'contract.ts'))}
    const stores = await openSqlite({ path: process.argv[1], synchronous: 'full' })
    console.log('open')
    let n = 0
    const write = async lane => {
      for (;;) {
        const id = 'turn_' + n++
        await stores.sessions.append(aSession('lane' + lane), owner, aStoredTurn(id))
        console.log(id)
      }
    }
    for (let lane = 0; lane < 8; lane++) write(lane)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, path], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  endsWithUs(child)
  return { child, lines: createInterface({ input: child.stdout }) }
}

t.test('in memory', async t => storeContract(t, () => opened(t, ':memory:')))

t.test('on disk', async t => {
  const folder = t.testdir()
  let n = 0
  await storeContract(t, () => opened(t, join(folder, `made/${n++}.db`)))
})

t.test('what was written is there after closing and opening again, also what was behind', async t => {
  const path = join(t.testdir(), 'a.db')
  const first = await openSqlite({ path, synchronous: 'full' })
  await first.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  const row = { id: 'turn_9', tenant: 'a', keyId: 'k', sessionId: 's', createdAt: 1, view: '{}' }
  first.turns.saveLater(row)
  const unawaited = first.sessions.reveal(aSession('k'), owner, ['found'])
  await first.close()
  t.strictSame(await unawaited, ['found'], 'a unit that waited for its tick is written too')
  await t.rejects(first.sessions.get('k'), { code: 'store_unavailable' })
  await t.rejects(first.sessions.delete('k'), { code: 'store_unavailable' })

  const second = await opened(t, path)
  t.match(await second.sessions.get('k'), { turns: 1, revealed: ['found'] })
  t.strictSame(await second.turns.get('turn_9'), row)
})

t.test('closing writes what waits for its tick', async t => {
  const path = join(t.testdir(), 'a.db')
  const first = await openSqlite({ path, synchronous: 'full' })
  const unawaited = Array.from({ length: 300 }, (_, n) =>
    first.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
  )
  await first.close()
  t.equal((await Promise.allSettled(unawaited)).filter(({ status }) => status === 'fulfilled').length, 300)
  t.equal((await (await opened(t, path)).sessions.get('k'))?.turns, 300)
})

t.test('a killed process leaves all that it acknowledged, and nothing half', async t => {
  const path = join(t.testdir(), 'crash.db')
  const acknowledged: string[] = []
  for (let round = 0; round < 3; round++) {
    const { child, lines } = writer(path)
    let seen = 0
    for await (const line of lines) {
      if (line !== 'open') acknowledged.push(`${line}/${round}`)
      if (++seen === 200 + 57 * round) child.kill('SIGKILL')
    }
    const stores = await openSqlite({ path, synchronous: 'full' })
    for (let lane = 0; lane < 8; lane++) {
      const turns = await stores.sessions.turns(`lane${lane}`, ['completed'], 10_000)
      const halves = turns.filter(({ id, messages }) => messages.length !== 4 || messages[0]?.id !== `${id}_q`)
      t.strictSame(halves, [], 'each turn is whole')
      const { data } = await stores.sessions.messages(`lane${lane}`, { limit: 100_000 })
      t.equal(data.length, turns.length * 4, 'no message is without its turn')
      t.equal((await stores.sessions.get(`lane${lane}`))?.turns, turns.length)
      for (const { id } of turns) {
        const at = acknowledged.indexOf(`${id}/${round}`)
        if (at !== -1) acknowledged.splice(at, 1)
      }
      await stores.sessions.delete(`lane${lane}`)
    }
    t.strictSame(acknowledged, [], 'all that was acknowledged was found')
    await stores.close()
  }
})

t.test('a second process is refused until the first has gone, however it went', async t => {
  const path = join(t.testdir(), 'one.db')
  const { child, lines } = writer(path)
  for await (const _line of lines) break
  await t.rejects(openSqlite({ path, synchronous: 'full' }), {
    code: 'store_unavailable',
    message: /one\.db is in use by another process/
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const stores = await opened(t, path)
  await stores.ping()
  await t.rejects(openSqlite({ path, synchronous: 'full' }), { code: 'store_unavailable' }, 'nor twice in one process')
})

t.test('migrating twice is harmless; a database of a newer version is refused', async t => {
  const path = join(t.testdir(), 'a.db')
  for (let n = 0; n < 2; n++) {
    const stores = await openSqlite({ path, synchronous: 'full' })
    await stores.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
    t.equal((await stores.sessions.get('k'))?.turns, n + 1)
    await stores.close()
  }
  const db = new DatabaseSync(path)
  t.equal(db.prepare('SELECT count(*) AS n FROM migrations').get()?.n, Object.keys(migrations).length)
  db.exec(`INSERT INTO migrations (name, timestamp) VALUES ('9999-later', 'now')`)
  db.close()
  await t.rejects(openSqlite({ path, synchronous: 'full' }), { message: /newer version/ })
  await t.rejects(openSqlite({ path, synchronous: 'full' }), { message: /newer version/ }, 'its lock was let go')
})

t.test('a file that is no database, or cannot be made, is refused by name', async t => {
  const folder = t.testdir({ 'a.db': 'x'.repeat(10_000) })
  await t.rejects(openSqlite({ path: join(folder, 'a.db'), synchronous: 'full' }), {
    code: 'store_unavailable',
    message: /a\.db cannot be used: file is not a database/
  })
  for (const path of [join(folder, 'a.db/b.db'), join(folder, 'a.db/b/c.db'), '/proc/nosuch/deep/l.db']) {
    await t.rejects(openSqlite({ path, synchronous: 'full' }), { code: 'store_unavailable' }, path)
  }
  const deep = await openSqlite({ path: join(folder, 'x/y/z.db'), synchronous: 'full' })
  await deep.close()
})

t.test('a failing unit takes nothing with it that was written in the same tick', async t => {
  const errors: unknown[] = []
  const stores = await openSqlite({ path: ':memory:', synchronous: 'full', onError: (...error) => errors.push(error) })
  t.teardown(() => stores.close())
  const tool = {
    tenant: 'a',
    name: 'x',
    version: 1,
    state: 'active',
    definition: '{}',
    secrets: '',
    createdAt: 1
  } as const
  const ends = await Promise.allSettled([
    stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1')),
    stores.tools.put(tool, 0),
    stores.tools.put(tool, 0),
    stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { status: 'unheard' as 'failed' })),
    stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_3'))
  ])
  t.strictSame(
    ends.map(end => (end.status === 'rejected' ? end.reason.code : 'done')),
    ['done', 'done', 'tool_name_taken', 'store_unavailable', 'done']
  )
  t.match(errors, [['write', { message: /CHECK constraint/ }]], 'the engine says what failed')
  t.equal((await stores.sessions.get('k'))?.turns, 2)
  t.equal((await stores.sessions.messages('k', { limit: 99 })).data.length, 8)
})

t.test('the sweeper deletes by age, and stops', async t => {
  const stores = await opened(t, ':memory:')
  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  await stores.turns.save({
    id: 'turn_1',
    tenant: 'a',
    keyId: 'k',
    sessionId: 's',
    createdAt: Date.now() - 5000,
    view: '{}'
  })
  const asked: number[] = []
  const closeLeft = async (before: number) => asked.push(before)
  const patient = sweeper(stores, { sessionTtlMs: 60_000, runTtlMs: 4000, everyMs: 5, closeLeft, log: silent })
  const pause = () => new Promise(resolve => setTimeout(resolve, 5))
  while ((await stores.turns.get('turn_1')) !== undefined) await pause()
  patient.stop()
  t.ok(await stores.sessions.get('k'), 'what was used of late stays')
  t.ok(Math.abs(Date.now() - 600_000 - (asked[0] ?? 0)) < 10_000, 'turns that were left ten minutes ago are ended')
  const eager = sweeper(stores, { sessionTtlMs: 1, runTtlMs: 1, everyMs: 5, closeLeft, log: silent })
  while ((await stores.sessions.get('k')) !== undefined) await pause()
  eager.stop()
  const swept = await stores.sessions.get('k')
  t.equal(swept, undefined)
})

t.test('a call that ran when the process ended is unknown, or open again where that does no harm', async t => {
  const path = join(t.testdir(), 'a.db')
  const first = await openSqlite({ path, synchronous: 'full' })
  const held = {
    ...aHeldBatch('turn_1'),
    calls: aHeldBatch('turn_1').calls.map((call, at) => (at === 0 ? { ...call, effect: 'write' as const } : call))
  }
  await first.sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { status: 'awaiting_client', held }))
  const turn = await first.calls.ofTurn('turn_1')
  if (!turn) throw new Error('it waits')
  await first.calls.claim(
    turn,
    held.calls.slice(0, 2).map(({ id }) => id)
  )
  await first.close()
  const { calls } = await opened(t, path)
  const states = (await calls.ofTurn('turn_1'))?.held?.calls.map(({ state }) => state)
  t.strictSame(states, ['unknown', 'requested', 'requested'])
})
