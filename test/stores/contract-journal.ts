import type { Test } from 'tap'
import type { AssistantMessage, ToolMessage } from '../../src/core/chat.ts'
import { unknownOutcome } from '../../src/core/unknown-outcome.ts'
import type { Dispatch, JournalCall, JournalHead, Stores } from '../../src/stores/contracts.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

const head = (changes: Partial<JournalHead> = {}): JournalHead => ({
  session: { key: 'k', id: 'name-of-k', branch: 'main' },
  startedAt: Date.now(),
  retries: [{ id: 'r1', bodyHash: 'b1', expiresAt: Date.now() + 60_000 }],
  ...changes
})

const answer: AssistantMessage = {
  ...{ role: 'assistant', id: 'a1', content: '' },
  calls: [0, 1].map(n => ({ id: `call_${n}`, name: 'pay', arguments: '{}' }))
}
const result = (n: number, changes: Partial<ToolMessage> = {}): ToolMessage => ({
  ...{ role: 'tool', id: `t${n}`, callId: `call_${n}`, content: 'ok' },
  ...changes
})

/** What every engine must do for the journal of turns that run tools. */
export async function journalContract(t: Test, opened: () => Promise<Stores>): Promise<void> {
  const call = (turn: string, index: number, changes: Partial<JournalCall> = {}): JournalCall => ({
    ...{ id: `tc_${turn.slice(5)}r1i${index}`, round: 1, index, callId: `call_${index}`, tool: 'pay', toolVersion: 1 },
    ...{ effect: 'write', arguments: '{}' },
    ...changes
  })
  const dispatch = (turn: string, index: number, changes: Partial<Dispatch> = {}): Dispatch => ({
    ref: { turn, fence: 1 },
    run: { id: turn, tenant: 'a', keyId: 'k1', sessionId: 's', createdAt: 1, view: `{"id":"${turn}"}` },
    messages: [],
    call: call(turn, index),
    ...changes
  })
  const unknown = ({ callId, tool }: { callId: string; tool: string }) => unknownOutcome(callId, tool)
  /** A turn that no call has left. */
  const ended = async (journal: Stores['journal'], turn: string, changes: Partial<JournalHead> = {}) => {
    const { ref, run } = dispatch(turn, 0)
    await journal.begin({ ref, run, head: head(changes) })
    await journal.end({ ref, state: 'done', outcome: '{}' })
  }
  /** Two calls have left, the first has its result; then nobody is there any more. */
  const left = async (stores: Stores, turn: string, effect: JournalCall['effect'] = 'write') => {
    const { journal } = stores
    await Promise.all([
      journal.dispatch(dispatch(turn, 0, { head: head(), messages: [answer], call: call(turn, 0, { effect }) })),
      journal.dispatch(dispatch(turn, 1, { call: call(turn, 1, { effect }) }))
    ])
    await journal.settle({ ref: { turn, fence: 1 }, callId: 'call_0', messages: [result(0)] })
    await journal.end({ ref: { turn, fence: 1 }, state: 'left' })
  }

  await t.test('what was dispatched is there with its messages, its run view and what a retry knows it by', async t => {
    const { journal, turns } = await opened()
    const question = aStoredTurn('turn_j1').messages.slice(0, 1)
    await journal.dispatch(dispatch('turn_j1', 0, { head: head({ base: 'm9', question }), messages: [answer] }))
    await journal.settle({ ref: { turn: 'turn_j1', fence: 1 }, callId: 'call_0', messages: [result(0)] })
    t.match(await journal.get('turn_j1'), {
      ...{
        ref: { turn: 'turn_j1', fence: 1 },
        state: 'running',
        session: { key: 'k', id: 'name-of-k', branch: 'main' }
      },
      ...{ base: 'm9', question, messages: [answer, result(0)], isDelivered: false }
    })
    t.match(await turns.get('turn_j1'), { tenant: 'a', view: '{"id":"turn_j1"}' })
    t.strictSame(await journal.retry('r1'), { turn: 'turn_j1', bodyHash: 'b1' })
    t.equal(await journal.retry('r2'), undefined)
    t.equal(await journal.get('turn_0'), undefined)
  })

  await t.test('a turn that is over has its outcome, and its messages no more', async t => {
    const { journal } = await opened()
    await journal.dispatch(dispatch('turn_j2', 0, { head: head(), messages: [answer] }))
    await journal.end({ ref: { turn: 'turn_j2', fence: 1 }, state: 'done', outcome: '{"answer":1}' })
    t.match(await journal.get('turn_j2'), { state: 'done', outcome: '{"answer":1}', messages: [], isDelivered: false })
    journal.delivered('turn_j2')
    while (!(await journal.get('turn_j2'))?.isDelivered) await new Promise(resolve => setTimeout(resolve, 10))
    t.equal(await journal.take('turn_j2', unknown), undefined, 'and nobody goes on with it')
    await ended(journal, 'turn_j3')
    t.match(await journal.get('turn_j3'), { state: 'done', outcome: '{}' }, 'also one that no call has left')
    t.strictSame(await journal.retry('r1'), { turn: 'turn_j3', bodyHash: 'b1' }, 'the newest turn holds')
  })

  await t.test('a turn that was left is taken by one; calls that may not be sent again are unknown to it', async t => {
    const stores = await opened()
    await left(stores, 'turn_j4')
    const [first, second] = await Promise.all([1, 2].map(() => stores.journal.take('turn_j4', unknown)))
    t.equal(second, undefined)
    t.match(first, { ref: { turn: 'turn_j4', fence: 2 }, state: 'running', messages: [answer, result(0), {}] })
    t.match(first?.messages[2], { role: 'tool', callId: 'call_1', isError: true, content: /outcome is not known/ })
    for (const effect of ['read', 'idempotent'] as const) {
      await left(stores, `turn_${effect}`, effect)
      const taken = await stores.journal.take(`turn_${effect}`, unknown)
      t.strictSame(taken?.messages, [answer, result(0)], `${effect}: may be sent again`)
    }
  })

  await t.test('whoever has lost the turn writes nothing any more', async t => {
    const stores = await opened()
    const { journal } = stores
    await left(stores, 'turn_j5')
    await journal.settle({ ref: { turn: 'turn_j5', fence: 1 }, callId: 'call_1', messages: [result(1)] })
    const taken = await journal.take('turn_j5', unknown)
    t.strictSame(taken?.messages, [answer, result(0), result(1)], 'a late result is heard as long as nobody goes on')
    const lost = { code: 'turn_cancelled' }
    await t.rejects(journal.dispatch(dispatch('turn_j5', 2)), lost)
    await t.rejects(journal.dispatch(dispatch('turn_j5', 2, { head: head() })), lost, 'nor begins it anew')
    await t.rejects(journal.settle({ ref: { turn: 'turn_j5', fence: 1 }, callId: 'call_1', messages: [] }), lost)
    await t.rejects(journal.end({ ref: { turn: 'turn_j5', fence: 1 }, state: 'done' }), lost)
    t.match(await journal.get('turn_j5'), { ref: { fence: 2 }, state: 'running' })
    await journal.end({ ref: { turn: 'turn_j5', fence: 2 }, state: 'done', outcome: '{}' })
  })

  await t.test('a turn that had waited for its client begins again under its id', async t => {
    const stores = await opened()
    const { journal } = stores
    await journal.dispatch(dispatch('turn_j6', 0, { head: head(), messages: [answer] }))
    await journal.end({ ref: { turn: 'turn_j6', fence: 1 }, state: 'done', outcome: '{}' })
    const ref = { turn: 'turn_j6', fence: 7 }
    await journal.dispatch(
      dispatch('turn_j6', 1, {
        ref,
        head: head({ base: 'm1', retries: [{ id: 'r1', bodyHash: 'b2', expiresAt: Date.now() + 60_000 }] }),
        messages: [answer]
      })
    )
    t.match(await journal.get('turn_j6'), { ref, state: 'running', base: 'm1', messages: [answer], outcome: undefined })
    t.strictSame(await journal.retry('r1'), { turn: 'turn_j6', bodyHash: 'b2' }, 'the newest request of a name holds')
    const next = { turn: 'turn_j6', fence: 8 }
    await journal.end({ ref, state: 'done', outcome: '{"second":1}' })
    const retries = [{ id: 'r2', bodyHash: 'b3', expiresAt: Date.now() + 60_000 }]
    await journal.dispatch(dispatch('turn_j6', 2, { ref: next, head: head({ base: 'm2', retries }) }))
    t.match(await journal.retry('r1'), { outcome: '{"second":1}' }, 'an earlier request keeps what it came to')
    t.strictSame(await journal.retry('r2'), { turn: 'turn_j6', bodyHash: 'b3' })
    await journal.end({ ref: next, state: 'done', outcome: '{"third":1}' })
    t.match(await journal.get('turn_j6'), { outcome: '{"third":1}' })
    await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await stores.sessions.delete('k')
    t.strictSame(await journal.retry('r1'), { turn: 'turn_j6', bodyHash: 'b2' }, 'its text goes with the session')
  })

  await t.test('what was left is found by its session and by its age', async t => {
    const stores = await opened()
    t.strictSame(await stores.journal.left({ sessionKey: 'k' }), [])
    await left(stores, 'turn_j7')
    await left(stores, 'turn_j8')
    const ids = async (which: Parameters<typeof stores.journal.left>[0]) =>
      (await stores.journal.left(which)).map(({ ref }) => ref.turn)
    t.strictSame(await ids({ sessionKey: 'k' }), ['turn_j7', 'turn_j8'])
    t.strictSame(await ids({ sessionKey: 'other' }), [])
    t.strictSame(await ids({ before: Date.now() + 1000 }), ['turn_j7', 'turn_j8'])
    t.strictSame(await ids({ before: Date.now() - 1000 }), [])
    await stores.journal.take('turn_j7', unknown)
    t.strictSame(await ids({ sessionKey: 'k' }), ['turn_j8'])
  })

  await t.test('a session that is deleted takes the texts of its turns along', async t => {
    const stores = await opened()
    const { journal, sessions } = stores
    await sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
    await left(stores, 'turn_j9')
    await ended(journal, 'turn_j10')
    await sessions.delete('k')
    t.match(await journal.get('turn_j9'), { state: 'failed', messages: [], question: undefined })
    t.match(await journal.get('turn_j10'), { state: 'done', outcome: undefined })
  })

  await t.test('answers go after their time, and rows after theirs; what runs or was left stays', async t => {
    const stores = await opened()
    const { journal } = stores
    await left(stores, 'turn_j11')
    await ended(journal, 'turn_j12')
    const soon = Date.now() + 1000
    t.equal(await journal.sweep({ textsBefore: soon, before: 0 }), 0)
    t.match(await journal.get('turn_j12'), { state: 'done', outcome: undefined })
    t.equal(await journal.sweep({ textsBefore: soon, before: soon }), 1)
    t.equal(await journal.get('turn_j12'), undefined)
    t.match(await journal.get('turn_j11'), { state: 'left', messages: [answer, result(0)] })
    await ended(journal, 'turn_j13', { retries: [{ id: 'old', bodyHash: 'b', expiresAt: Date.now() - 1 }] })
    t.equal(await journal.retry('old'), undefined, 'a retry comes in time or not at all')
  })
}
