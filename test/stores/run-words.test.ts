import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { TurnRow } from '../../src/stores/contracts.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

async function opened(t: Test, path = ':memory:') {
  const stores = await openSqlite({ path, synchronous: 'normal' })
  t.teardown(() => stores.close())
  return stores
}

const view = (augmented: object | null) =>
  JSON.stringify({ status: 'completed', rounds: [{ n: 1, calls: [{ augmented }] }] })
const thought = { innerThought: 'I need "augmented":{ the number' }

function aRun(id: string, more: Partial<TurnRow> = {}): TurnRow {
  return { id, ...owner, sessionId: aSession('k').id, createdAt: 1, view: view(thought), ...more }
}

t.test("a deleted session takes the model's words out of its run views, and leaves the rest", async t => {
  const { sessions, turns } = await opened(t)
  await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  for (const id of ['turn_1', 'turn_not_remembered']) await turns.save(aRun(id))
  await turns.save(aRun('turn_elsewhere', { sessionId: 'other' }))
  await turns.save(aRun('turn_of_another_key', { keyId: 'other' }))
  await turns.save(aRun('turn_of_another_tenant', { tenant: 'other' }))
  await turns.save(aRun('turn_without', { view: view(null) }))
  const seen = async (id: string) => (await turns.get(id))?.view
  t.equal(await sessions.delete('k'), true)
  for (const id of ['turn_1', 'turn_not_remembered', 'turn_without']) t.equal(await seen(id), view(null), id)
  for (const id of ['turn_elsewhere', 'turn_of_another_key', 'turn_of_another_tenant']) {
    t.equal(await seen(id), view(thought), id)
  }
})

t.test('where keys share a session, the words of all who have a turn in it go', async t => {
  const { sessions, turns } = await opened(t)
  await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  await sessions.append(aSession('k'), { ...owner, keyId: 'other' }, aStoredTurn('turn_2'))
  await turns.save(aRun('turn_2', { keyId: 'other' }))
  await sessions.delete('k')
  t.equal((await turns.get('turn_2'))?.view, view(null))
})

t.test('a session that was swept for its age has its words taken out too', async t => {
  const { sessions, turns } = await opened(t)
  await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  await turns.save(aRun('turn_1'))
  t.equal(await sessions.sweep(Date.now() + 1000), 1)
  t.equal((await turns.get('turn_1'))?.view, view(null))
})

t.test('looking for the words reads no run that has none', async t => {
  const path = `${t.testdir()}/store.sqlite`
  const stores = await openSqlite({ path, synchronous: 'normal' })
  await stores.close()
  const db = new DatabaseSync(path)
  t.teardown(() => db.close())
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN SELECT runs.n FROM sessions JOIN runs ON runs.session_id = sessions.id
      WHERE sessions.n = 1 AND instr(runs.view, '"augmented":{') > 0`)
    .all()
  t.match(JSON.stringify(plan), /USING INDEX runs_words/)
})
