import type { Test } from 'tap'
import type { ToolMessage } from '../../src/core/chat.ts'
import type { HeldCall } from '../../src/core/held-calls.ts'
import type { Limits } from '../../src/core/policy.ts'
import type { HeldBatch, StoredTurn, Stores, WaitingTurn } from '../../src/stores/contracts.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

const aHeldCall = (turn: string, index: number): HeldCall => ({
  ...{ id: `tc_${turn}r1i${index}`, round: 1, index, callId: `call_${turn}_${index}`, tool: 'stock_level' },
  ...{ toolVersion: 3, runner: 'gateway', effect: 'read', arguments: '{"n":1}', state: 'requested' }
})

/** Three calls of a turn, the last of them the client's own. */
export const aHeldBatch = (turn: string, changes: Partial<HeldBatch> = {}): HeldBatch => ({
  calls: [aHeldCall(turn, 0), aHeldCall(turn, 1), { ...aHeldCall(turn, 2), runner: 'client' }],
  request: { limits: { maxCalls: 9 } as Limits, context: { a: 1 } },
  isForgotten: false,
  ...changes
})

/** What every engine must do for calls that wait for a client. */
export async function callsContract(t: Test, opened: () => Promise<Stores>): Promise<void> {
  const waiting = (id: string, changes: Partial<StoredTurn> = {}) =>
    aStoredTurn(id, { status: 'awaiting_client', held: aHeldBatch(id), ...changes })
  const result = (n: number): ToolMessage => ({
    role: 'tool',
    id: `r${n}`,
    callId: `call_${n}`,
    content: '{"units":17}'
  })

  await t.test('a waiting turn is found by its session, by its id and by its open calls, with its rows', async t => {
    const { sessions, calls } = await opened()
    const turn = waiting('turn_1')
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_0'))
    await sessions.append(aSession('k'), owner, turn)
    const found = { ...turn, session: { key: 'k', id: 'name-of-k', branch: 'main' } }
    t.strictSame(await calls.waiting('k'), [found])
    t.strictSame(await calls.ofTurn('turn_1'), found)
    t.strictSame(await calls.ofCall('call_turn_1_1'), found)
    t.equal(await calls.ofCall('call_other'), undefined)
    t.equal(await calls.ofTurn('turn_0'), undefined, 'one that has ended does not wait')
    t.strictSame(await calls.waiting('other'), [])
  })

  await t.test('a call is claimed once, all or none, and settled once', async t => {
    const { sessions, calls } = await opened()
    await sessions.append(aSession('k'), owner, waiting('turn_1'))
    const turn = (await calls.ofTurn('turn_1')) as WaitingTurn
    const [first = '', second = ''] = turn.held?.calls.map(({ id }) => id) ?? []
    const ends = await Promise.allSettled([calls.claim(turn, [first]), calls.claim(turn, [second, first])])
    t.equal(ends[0]?.status, 'fulfilled')
    t.match(ends[1], { reason: { code: 'call_not_open' } })
    await calls.settle(turn, first, { state: 'succeeded', message: result(1) })
    await calls.settle(turn, first, { state: 'failed', message: result(2) })
    await calls.settle(turn, second, { state: 'succeeded', message: result(3) })
    const states = async () =>
      (await calls.ofTurn('turn_1'))?.held?.calls.map(({ state, result }) => [state, result?.id])
    t.strictSame(await states(), [
      ['succeeded', 'r1'],
      ['requested', undefined],
      ['requested', undefined]
    ])
    await calls.claim(turn, [second])
    await calls.settle(turn, second, undefined)
    t.strictSame((await states())?.[1], ['requested', undefined], 'given back, it can be claimed again')
    await calls.claim(turn, [second])
  })

  await t.test('rows go with their turn: when it goes on, is forgotten, or its session is deleted', async t => {
    const { sessions, calls } = await opened()
    await sessions.append(aSession('k'), owner, waiting('turn_1'))
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { replaces: 'turn_1', answers: 'turn_1_a' }))
    t.equal(await calls.ofCall('call_turn_1_0'), undefined)
    t.equal((await sessions.get('k'))?.turns, 1)

    await sessions.append(
      aSession('k'),
      owner,
      waiting('turn_2', { held: aHeldBatch('turn_2', { isForgotten: true }) })
    )
    const turn = (await calls.ofTurn('turn_2')) as WaitingTurn
    t.equal(turn.held?.isForgotten, true)
    await calls.forget(turn)
    t.equal(await calls.ofCall('call_turn_2_0'), undefined)
    t.equal((await sessions.get('k'))?.turns, 1)
    t.equal((await sessions.messages('k', { limit: 99 })).data.length, 4)
    await t.rejects(calls.forget(turn), { code: 'session_busy' })

    await sessions.append(aSession('k'), owner, waiting('turn_3'))
    await sessions.delete('k')
    await t.resolves(calls.forget(turn), 'a session that is gone has nothing to forget')
    t.equal(await calls.ofCall('call_turn_3_0'), undefined)
  })

  await t.test('a turn goes on from the answer that it answers, not from a later one', async t => {
    const { sessions } = await opened()
    await sessions.append(aSession('k'), owner, waiting('turn_1'))
    const next = (answerId: string) =>
      waiting('turn_1', { answerId, replaces: 'turn_1', answers: 'turn_1_a', held: aHeldBatch('turn_1') })
    await sessions.append(aSession('k'), owner, next('turn_1_b'))
    await t.rejects(sessions.append(aSession('k'), owner, next('turn_1_c')), { code: 'session_busy' })
  })
}
