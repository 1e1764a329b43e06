import type { Test } from 'tap'
import type { Session } from '../../src/core/principal.ts'
import type { StoredTurn, Stores } from '../../src/stores/contracts.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

const aBranch = (branch: string, root = 'k'): Session => ({ ...aSession(root), key: `${root}/${branch}`, branch, root })
const ids = (turns: readonly StoredTurn[]) => turns.map(({ id }) => id)

/** Summaries of older turns, for `storeContract`. */
export async function summariesContract(t: Test, opened: () => Promise<Stores>): Promise<void> {
  const filled = async (turns = 4) => {
    const stores = await opened()
    for (let n = 1; n <= turns; n++) await stores.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
    return stores
  }
  const since = async ({ sessions }: Stores, key = 'k') =>
    ids(await sessions.turns(key, ['completed'], 99, 'ends', 'summary'))

  await t.test('a summary stands for the turns up to one; all of them stay', async t => {
    const stores = await filled()
    const { sessions } = stores
    t.equal(await sessions.summary('k'), undefined)
    t.strictSame(await since(stores), ['turn_1', 'turn_2', 'turn_3', 'turn_4'])
    t.equal(await sessions.summarise(aSession('k'), { text: 'One.', upTo: 'turn_1' }, undefined), true)
    t.equal(await sessions.summarise(aSession('k'), { text: 'Three.', upTo: 'turn_3' }, 'turn_1'), true)
    t.strictSame(await sessions.summary('k'), { text: 'Three.', upTo: 'turn_3' })
    t.strictSame(await since(stores), ['turn_4'])
    t.equal((await sessions.turns('k', ['completed'], 99)).length, 4)
    t.equal((await sessions.messages('k', { limit: 99 })).data.length, 16)
    t.equal((await sessions.get('k'))?.turns, 4)
  })

  await t.test(
    'of two summaries of the same turns one wins; none goes back, and none covers what is not there',
    async t => {
      const { sessions } = await filled()
      const of = (upTo: string) => ({ text: `Up to ${upTo}.`, upTo })
      const both = ['turn_2', 'turn_3'].map(upTo => sessions.summarise(aSession('k'), of(upTo), undefined))
      t.strictSame(await Promise.all(both), [true, false])
      t.equal(await sessions.summarise(aSession('k'), of('turn_1'), 'turn_2'), false)
      t.equal(await sessions.summarise(aSession('k'), of('turn_9'), 'turn_2'), false)
      t.equal(await sessions.summarise(aSession('none'), of('turn_1'), undefined), false)
      t.strictSame(await sessions.summary('k'), of('turn_2'))
    }
  )

  await t.test('a turn that waits is never covered', async t => {
    const { sessions } = await filled(1)
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { status: 'awaiting_client' }))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_3'))
    t.equal(await sessions.summarise(aSession('k'), { text: 'Three.', upTo: 'turn_3' }, undefined), false)
    t.equal(await sessions.summarise(aSession('k'), { text: 'One.', upTo: 'turn_1' }, undefined), true)
  })

  await t.test('forks and branches take it along, if they have the turns that it covers', async t => {
    const stores = await filled()
    const { sessions } = stores
    await sessions.summarise(aSession('k'), { text: 'Three.', upTo: 'turn_3' }, undefined)
    await sessions.openBranch(aBranch('left'), owner)
    await sessions.fork('k', aSession('early'), owner, 'turn_2')
    t.strictSame(await sessions.summary('k/left'), { text: 'Three.', upTo: 'turn_3' })
    t.strictSame(await since(stores, 'k/left'), ['turn_4'])
    t.equal(await sessions.summary('early'), undefined)
    t.strictSame(await since(stores, 'early'), ['turn_1', 'turn_2'])
  })

  await t.test('it goes with its session, and is not brought back', async t => {
    const { sessions } = await filled()
    const running = { ...aSession('k'), since: performance.now() }
    await sessions.summarise(running, { text: 'One.', upTo: 'turn_1' }, undefined)
    await sessions.delete('k')
    t.equal(await sessions.summary('k'), undefined)
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    t.equal(await sessions.summarise(running, { text: 'One.', upTo: 'turn_1' }, undefined), false)
    t.equal(await sessions.summary('k'), undefined)
  })
}
