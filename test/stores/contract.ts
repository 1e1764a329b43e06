import type { Test } from 'tap'
import type { Message } from '../../src/core/chat.ts'
import type { Session } from '../../src/core/principal.ts'
import type { SessionOwner, StoredTurn, Stores, ToolRow, TurnRow } from '../../src/stores/contracts.ts'
import { branchesContract } from './contract-branches.ts'
import { callsContract } from './contract-calls.ts'
import { journalContract } from './contract-journal.ts'
import { summariesContract } from './contract-summaries.ts'

export const owner: SessionOwner = { tenant: 'default', keyId: 'dev' }
export const aSession = (key: string): Session => ({ id: `name-of-${key}`, key, named: true, branch: 'main' })

/** A finished turn with one call: question, call, result, answer. */
export function aStoredTurn(id: string, changes: Partial<StoredTurn> = {}): StoredTurn {
  const messages: Message[] = [
    { role: 'user', id: `${id}_q`, content: `question of ${id}` },
    {
      role: 'assistant',
      id: `${id}_c`,
      content: '',
      calls: [{ id: `call_${id}`, name: 'stock_level', arguments: '{"n":12345678901234567890}' }]
    },
    { role: 'tool', id: `${id}_r`, callId: `call_${id}`, content: '{"units":17}' },
    { role: 'assistant', id: `${id}_a`, content: `answer of ${id} – ✓`, calls: [] }
  ]
  return { id, status: 'completed', answerId: `${id}_a`, messages, createdAt: 1_790_000_000_000, ...changes }
}

const aRun = (id: string, createdAt = 1000): TurnRow => ({
  id,
  tenant: 'default',
  keyId: 'dev',
  sessionId: 's',
  createdAt,
  view: JSON.stringify({ id })
})

const aTool = (name: string, changes: Partial<ToolRow> = {}): ToolRow => ({
  tenant: 'default',
  name,
  version: 1,
  state: 'active',
  definition: `{"name":"${name}"}`,
  secrets: 'sealed',
  createdAt: 1000,
  ...changes
})

const ids = (turns: readonly StoredTurn[]) => turns.map(({ id }) => id)

/** What every store engine must do: run it against a new, empty store, `opened` by the engine under test. */
export async function storeContract(t: Test, opened: () => Promise<Stores>): Promise<void> {
  await t.test('sessions', async t => sessions(t, opened))
  await t.test('branches and forks', async t => branchesContract(t, opened))
  await t.test('summaries', async t => summariesContract(t, opened))
  await t.test('turns', async t => runs(t, opened))
  await t.test('tools', async t => tools(t, opened))
  await t.test('calls', async t => callsContract(t, opened))
  await t.test('journal', async t => journalContract(t, opened))
}

async function sessions(t: Test, opened: () => Promise<Stores>): Promise<void> {
  await t.test('a turn comes back as it was stored, byte for byte', async t => {
    const { sessions } = await opened()
    const turn = aStoredTurn('turn_1')
    await sessions.append(aSession('k'), owner, turn)
    t.strictSame(await sessions.turns('k', ['completed'], 10), [turn])
    t.match(await sessions.get('k'), { id: 'name-of-k', tenant: 'default', keyId: 'dev', turns: 1, revealed: [] })
    t.equal(await sessions.get('other'), undefined)
  })

  await t.test('turns are the newest of the wanted statuses, oldest first', async t => {
    const { sessions } = await opened()
    const statuses = ['completed', 'failed', 'limited', 'completed', 'completed'] as const
    for (const [n, status] of statuses.entries()) {
      await sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`, { status }))
    }
    t.strictSame(ids(await sessions.turns('k', ['completed'], 2)), ['turn_3', 'turn_4'])
    t.strictSame(ids(await sessions.turns('k', ['completed', 'limited'], 9)), ['turn_0', 'turn_2', 'turn_3', 'turn_4'])
    t.strictSame(await sessions.turns('none', ['completed'], 9), [])
  })

  await t.test('ends are questions and answers, and the whole of a turn that waits', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { status: 'awaiting_client' }))
    const turns = await sessions.turns('k', ['completed', 'awaiting_client'], 9, 'ends')
    t.strictSame(
      turns.map(({ messages }) => messages.map(({ id }) => id)),
      [
        ['turn_1_q', 'turn_1_a'],
        ['turn_2_q', 'turn_2_c', 'turn_2_r', 'turn_2_a']
      ]
    )
  })

  await t.test('a turn written again is replaced, and one that goes on replaces the one before', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { status: 'awaiting_client' }))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { status: 'awaiting_client', createdAt: 9 }))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { replaces: 'turn_1' }))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_3'))
    t.equal((await sessions.get('k'))?.turns, 2)
    const { data } = await sessions.messages('k', { limit: 100 })
    t.strictSame([...new Set(data.map(({ turnId }) => turnId))], ['turn_2', 'turn_3'])
    t.equal(data.length, 8)
  })

  await t.test('the transcript comes in pages, with the turn of each message', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { status: 'failed', createdAt: 5 }))
    const first = await sessions.messages('k', { limit: 5 })
    t.equal(first.data.length, 5)
    t.match(first.data[4], { turnId: 'turn_2', status: 'failed', createdAt: 5, message: { id: 'turn_2_q' } })
    const second = await sessions.messages('k', { limit: 5, cursor: first.nextCursor ?? '' })
    t.strictSame(
      second.data.map(({ message }) => message.id),
      ['turn_2_c', 'turn_2_r', 'turn_2_a']
    )
    t.equal(second.nextCursor, undefined)
    await t.rejects(sessions.messages('k', { limit: 5, cursor: 'forged' }), { code: 'invalid_request' })
  })

  await t.test('64 turns written to one session at once are all there', async t => {
    const { sessions } = await opened()
    const names = Array.from({ length: 64 }, (_, n) => `turn_${n}`)
    await Promise.all(names.map(name => sessions.append(aSession('k'), owner, aStoredTurn(name))))
    t.strictSame(ids(await sessions.turns('k', ['completed'], 100)).sort(), names.sort())
    t.equal((await sessions.get('k'))?.turns, 64)
    const { data } = await sessions.messages('k', { limit: 1000 })
    t.equal(data.length, 256)
    const runs = data.map(({ turnId }) => turnId).filter((id, at, all) => id !== all[at - 1])
    t.equal(runs.length, 64, 'and the messages of each stand together')
  })

  await t.test('a session belongs to its key: lists show the newest first, in pages', async t => {
    const { sessions } = await opened()
    for (const n of [1, 2, 3]) {
      await sessions.append(aSession(`k${n}`), owner, aStoredTurn(`turn_${n}`))
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    await sessions.append(aSession('foreign'), { tenant: 'default', keyId: 'other' }, aStoredTurn('turn_4'))
    const first = await sessions.list(owner, { limit: 2 })
    t.strictSame(
      first.data.map(({ id }) => id),
      ['name-of-k3', 'name-of-k2']
    )
    const second = await sessions.list(owner, { limit: 2, cursor: first.nextCursor ?? '' })
    t.strictSame(
      second.data.map(({ id }) => id),
      ['name-of-k1']
    )
    t.equal(second.nextCursor, undefined)
  })

  await t.test('revealed tools are only added to, in order of discovery', async t => {
    const { sessions } = await opened()
    t.strictSame(await sessions.reveal(aSession('k'), owner, ['b', 'a']), ['b', 'a'])
    t.strictSame(await sessions.reveal(aSession('k'), owner, ['a', 'c'], ['a', 'c']), ['b', 'a', 'c'])
    t.match(await sessions.get('k'), { revealed: ['b', 'a', 'c'], lastFound: ['a', 'c'], turns: 0 })
    await sessions.reveal(aSession('k'), owner, [], [])
    t.strictSame((await sessions.get('k'))?.lastFound, [])
  })

  await t.test('what auto was decided to be is kept: the first writer wins', async t => {
    const { sessions } = await opened()
    const decided = await Promise.all([
      sessions.decideSearch(aSession('k'), owner, 'on'),
      sessions.decideSearch(aSession('k'), owner, 'off')
    ])
    t.strictSame(decided, ['on', 'on'])
    t.equal((await sessions.get('k'))?.searchMode, 'on')
  })

  await t.test('a deleted session leaves nothing behind', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.reveal(aSession('k'), owner, ['a'])
    t.equal(await sessions.delete('k'), true)
    t.equal(await sessions.delete('k'), false)
    t.equal(await sessions.get('k'), undefined)
    t.strictSame((await sessions.messages('k', { limit: 9 })).data, [])
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    t.equal((await sessions.turns('k', ['completed'], 9)).length, 1, 'its ids can be used again')
    t.strictSame((await sessions.get('k'))?.revealed, [])
  })

  await t.test('what a turn writes whose session was deleted while it ran is not kept', async t => {
    const { sessions } = await opened()
    const since = () => ({ ...aSession('k'), since: performance.now() })
    const running = since()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    const deleted = sessions.delete('k')
    await sessions.append(running, owner, aStoredTurn('turn_2'))
    t.equal(await deleted, true)
    t.strictSame(await sessions.reveal(running, owner, ['a']), [])
    t.equal(await sessions.decideSearch(running, owner, 'on'), 'on')
    t.equal(await sessions.get('k'), undefined)
    await sessions.append(since(), owner, aStoredTurn('turn_3'))
    t.strictSame(ids(await sessions.turns('k', ['completed'], 9)), ['turn_3'], 'a later turn begins anew')
  })

  await t.test('of turns that go on from the same one the first is kept, the others are refused', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { status: 'awaiting_client' }))
    const ends = await Promise.allSettled(
      ['turn_2', 'turn_3'].map(id => sessions.append(aSession('k'), owner, aStoredTurn(id, { replaces: 'turn_1' })))
    )
    t.equal(ends[0]?.status, 'fulfilled')
    t.match(ends[1], { reason: { code: 'session_busy' } })
    t.strictSame(ids(await sessions.turns('k', ['completed', 'awaiting_client'], 9)), ['turn_2'])
    t.equal((await sessions.get('k'))?.turns, 1)
  })

  await t.test('a sweep deletes the unused, however many, and leaves the rest', async t => {
    const { sessions } = await opened()
    const keys = Array.from({ length: 450 }, (_, n) => `k${n}`)
    await Promise.all(keys.map(key => sessions.append(aSession(key), owner, aStoredTurn(`turn_${key}`))))
    const between = Date.now() + 1
    await new Promise(resolve => setTimeout(resolve, 5))
    await sessions.append(aSession('k7'), owner, aStoredTurn('turn_again'))
    t.equal(await sessions.sweep(between), 449)
    t.equal(await sessions.sweep(between), 0)
    t.equal((await sessions.turns('k7', ['completed'], 9)).length, 2)
  })
}

async function runs(t: Test, opened: () => Promise<Stores>): Promise<void> {
  await t.test('a row that is still behind is seen at once', async t => {
    const { turns } = await opened()
    for (let n = 0; n < 700; n++) turns.saveLater(aRun(`turn_${n}`))
    t.strictSame(await turns.get('turn_0'), aRun('turn_0'))
    t.strictSame(await turns.get('turn_699'), aRun('turn_699'))
    await new Promise(resolve => setTimeout(resolve, 200))
    t.strictSame(await turns.get('turn_699'), aRun('turn_699'), 'and later')
    t.equal(await turns.get('turn_700'), undefined)
  })

  await t.test('a saved row is there, and can be written again', async t => {
    const { turns } = await opened()
    await turns.save(aRun('turn_1'))
    await turns.save({ ...aRun('turn_1'), view: '{}' })
    t.equal((await turns.get('turn_1'))?.view, '{}')
  })

  await t.test('a sweep deletes the old, however many', async t => {
    const { turns } = await opened()
    await Promise.all(Array.from({ length: 1200 }, (_, n) => turns.save(aRun(`turn_${n}`, n))))
    t.equal(await turns.sweep(1100), 1100)
    t.equal(await turns.get('turn_1099'), undefined)
    t.ok(await turns.get('turn_1100'))
  })
}

async function tools(t: Test, opened: () => Promise<Stores>): Promise<void> {
  await t.test('a name is taken once in a tenant, whatever its case', async t => {
    const { tools } = await opened()
    await tools.put(aTool('stock_level'), 0)
    await t.rejects(tools.put(aTool('Stock_Level'), 0), { code: 'tool_name_taken' })
    await tools.put(aTool('stock_level', { tenant: 'other' }), 0)
    t.strictSame(await tools.tenants(), ['default', 'other'])
    t.strictSame(await tools.get('default', 'stock_level'), aTool('stock_level'))
    t.equal(await tools.get('default', 'STOCK_LEVEL'), undefined)
  })

  await t.test('of two changes of one version one wins', async t => {
    const { tools } = await opened()
    await tools.put(aTool('a'), 0)
    const second = aTool('a', { version: 2, definition: '{"v":2}' })
    const ends = await Promise.allSettled([tools.put(second, 1), tools.put(second, 1)])
    t.strictSame(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await t.rejects(tools.put(aTool('a', { version: 2 }), 1), { code: 'version_conflict' })
    t.strictSame(await tools.get('default', 'a'), second)
  })

  await t.test('tools are listed in the order of their first registration, without the retired', async t => {
    const { tools } = await opened()
    for (const name of ['c', 'a', 'b', 'd']) await tools.put(aTool(name), 0)
    await tools.put(aTool('c', { version: 2 }), 1)
    await tools.setState('default', 'a', 'retired')
    await tools.setState('default', 'b', 'disabled')
    const listed = await tools.list('default')
    t.strictSame(
      listed.map(({ name, version, state }) => [name, version, state]),
      [
        ['c', 2, 'active'],
        ['b', 1, 'disabled'],
        ['d', 1, 'active']
      ]
    )
  })
}
