import type { Test } from 'tap'
import type { Session } from '../../src/core/principal.ts'
import type { StoredTurn, Stores } from '../../src/stores/contracts.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

const aBranch = (branch: string, root = 'k'): Session => ({ ...aSession(root), key: `${root}/${branch}`, branch, root })
const ids = (turns: readonly StoredTurn[]) => turns.map(({ id }) => id)

/** Branches and forks, for `storeContract`. */
export async function branchesContract(t: Test, opened: () => Promise<Stores>): Promise<void> {
  const all = ['completed', 'failed', 'awaiting_client'] as const
  const turnsOf = async ({ sessions }: Stores, key: string) => ids(await sessions.turns(key, all, 99))

  await t.test('a branch has what its session had when it was opened, and then goes its own way', async t => {
    const stores = await opened()
    const { sessions } = stores
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.reveal(aSession('k'), owner, ['b', 'a'], ['a'])
    await sessions.decideSearch(aSession('k'), owner, 'on')
    await sessions.openBranch(aBranch('left'), owner)
    await sessions.openBranch(aBranch('right'), owner)
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2'))
    await sessions.append(aBranch('left'), owner, aStoredTurn('turn_3'))
    await sessions.reveal(aBranch('left'), owner, ['c'])
    await sessions.openBranch(aBranch('left'), owner)
    t.strictSame(await turnsOf(stores, 'k'), ['turn_1', 'turn_2'])
    t.strictSame(await turnsOf(stores, 'k/left'), ['turn_1', 'turn_3'], 'opening it again changes nothing')
    t.strictSame(await turnsOf(stores, 'k/right'), ['turn_1'])
    t.strictSame(await sessions.turns('k/right', all, 9), [aStoredTurn('turn_1')], 'byte for byte')
    const seen = { id: 'name-of-k', searchMode: 'on', lastFound: ['a'] }
    t.match(await sessions.get('k/left'), { ...seen, turns: 2, revealed: ['b', 'a', 'c'], branches: [] })
    t.match(await sessions.get('k/right'), { ...seen, turns: 1, revealed: ['b', 'a'] })
    t.match(await sessions.get('k'), { turns: 2, revealed: ['b', 'a'], branches: ['left', 'right'] })
  })

  await t.test('opening a branch opens its session; neither it nor what it holds is listed beside that', async t => {
    const stores = await opened()
    await Promise.all([1, 2, 3].map(() => stores.sessions.openBranch(aBranch('left'), owner)))
    await stores.sessions.append(aBranch('left'), owner, aStoredTurn('turn_1'))
    t.match(await stores.sessions.get('k'), { id: 'name-of-k', turns: 0, branches: ['left'] })
    const { data } = await stores.sessions.list(owner, { limit: 9 })
    t.equal(data.length, 1)
    t.match(data, [{ turns: 0, branches: ['left'] }])
  })

  await t.test('a turn that waits stays where it waits', async t => {
    const stores = await opened()
    const { sessions } = stores
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { status: 'awaiting_client' }))
    await sessions.openBranch(aBranch('left'), owner)
    await sessions.fork('k', aSession('fork'), owner)
    t.strictSame(await turnsOf(stores, 'k/left'), ['turn_1'])
    t.strictSame(await turnsOf(stores, 'fork'), ['turn_1'])
    t.equal((await sessions.messages('fork', { limit: 99 })).data.length, 4)
    await t.rejects(sessions.fork('k', aSession('other'), owner, 'turn_2'), {
      code: 'invalid_request',
      detail: { param: 'turn_id' }
    })
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_3', { replaces: 'turn_2' }))
    t.strictSame(await turnsOf(stores, 'k/left'), ['turn_1'])
  })

  await t.test('a branch goes with its session, and a turn that ran on it does not bring it back', async t => {
    const stores = await opened()
    const running = { ...aBranch('left'), since: performance.now() }
    await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await stores.sessions.openBranch(running, owner)
    await stores.sessions.append(running, owner, aStoredTurn('turn_2'))
    t.equal(await stores.sessions.delete('k'), true)
    t.equal(await stores.sessions.get('k/left'), undefined)
    t.strictSame((await stores.sessions.messages('k/left', { limit: 9 })).data, [])
    await stores.sessions.append(running, owner, aStoredTurn('turn_3'))
    await stores.sessions.openBranch(running, owner)
    t.equal(await stores.sessions.get('k'), undefined)
    t.equal(await stores.sessions.get('k/left'), undefined)
    await stores.sessions.openBranch(aBranch('left'), owner)
    t.match(await stores.sessions.get('k/left'), { turns: 0, revealed: [] }, 'opened anew, it is empty')
  })

  await t.test('a session is used when a branch of it is; unused, both are swept', async t => {
    const stores = await opened()
    await stores.sessions.openBranch(aBranch('left'), owner)
    await stores.sessions.openBranch(aBranch('left', 'old'), owner)
    const between = Date.now() + 1
    await new Promise(resolve => setTimeout(resolve, 5))
    await stores.sessions.append(aBranch('left'), owner, aStoredTurn('turn_1'))
    t.equal(await stores.sessions.sweep(between), 1)
    t.strictSame(await turnsOf(stores, 'k/left'), ['turn_1'])
    t.equal(await stores.sessions.get('old/left'), undefined)
    t.equal(await stores.sessions.sweep(Date.now() + 1000), 1)
    t.equal(await stores.sessions.get('k/left'), undefined)
  })

  await t.test('a fork is a session of its own with the history up to a turn', async t => {
    const stores = await opened()
    const { sessions } = stores
    for (const n of [1, 2, 3]) await sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
    await sessions.reveal(aSession('k'), owner, ['a'])
    await sessions.openBranch(aBranch('left'), owner)
    await sessions.append(aBranch('left'), owner, aStoredTurn('turn_4'))
    await sessions.fork('k', aSession('early'), { tenant: 'default', keyId: 'other' }, 'turn_2')
    await sessions.fork('k', aSession('of-branch'), owner, 'turn_4')
    t.strictSame(await turnsOf(stores, 'early'), ['turn_1', 'turn_2'])
    t.strictSame(await turnsOf(stores, 'of-branch'), ['turn_1', 'turn_2', 'turn_3', 'turn_4'], 'a turn of a branch')
    t.match(await sessions.get('early'), {
      id: 'name-of-early',
      keyId: 'other',
      turns: 2,
      revealed: ['a'],
      branches: []
    })
    await sessions.append(aSession('early'), owner, aStoredTurn('turn_5'))
    t.strictSame(await turnsOf(stores, 'early'), ['turn_1', 'turn_2', 'turn_5'])
    t.equal(await sessions.delete('k'), true)
    t.strictSame(await turnsOf(stores, 'early'), ['turn_1', 'turn_2', 'turn_5'], 'it outlives the other')
  })

  await t.test('a fork needs a session, a turn of it, and a name that is free', async t => {
    const { sessions } = await opened()
    await t.rejects(sessions.fork('k', aSession('fork'), owner), { code: 'not_found' })
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await sessions.append(aSession('other'), owner, aStoredTurn('turn_2'))
    await t.rejects(sessions.fork('k', aSession('fork'), owner, 'turn_2'), {
      code: 'not_found',
      detail: { param: 'turn_id' }
    })
    await t.rejects(sessions.fork('k', aSession('other'), owner), {
      code: 'invalid_request',
      detail: { param: 'session_id' }
    })
    t.equal(await sessions.get('fork'), undefined)
    t.strictSame(ids(await sessions.turns('other', ['completed'], 9)), ['turn_2'])
  })
}
