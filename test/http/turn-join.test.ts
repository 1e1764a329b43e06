import t from 'tap'
import type { Message, ToolCall } from '../../src/core/chat.ts'
import type { HeldCall } from '../../src/core/held-calls.ts'
import { joinWaiting, withResults } from '../../src/http/turn-join.ts'
import type { WaitingTurn } from '../../src/stores/contracts.ts'
import { aPolicy } from '../helper/turn.ts'

let n = 0
const call = (id: string): ToolCall => ({ id, name: 'look', arguments: '{}' })
const user = (content: string): Message => ({ role: 'user', id: `u${n++}`, content })
const system = (content: string): Message => ({ role: 'system', id: `s${n++}`, content })
const said = (content: string, ...ids: string[]): Message => ({
  ...{ role: 'assistant', id: `a${n++}`, content },
  calls: ids.map(call)
})
const result = (callId: string, content: string): Message => ({ role: 'tool', id: `r${n++}`, callId, content })

/** A turn that waits with calls 1 and 2; `states` makes rows for them. */
function waits(states: readonly HeldCall['state'][] = [], id = 'turn_1'): WaitingTurn {
  const rows = states.map((state, index): HeldCall => {
    const callId = String(index + 1)
    const message = { role: 'tool', id: `row${index}`, callId, content: `stored ${callId}` } as const
    return {
      ...{ id: `tc_${index}`, round: 1, index, callId, tool: 'look', toolVersion: 1 },
      ...{ runner: 'gateway', effect: 'write', arguments: '{}', state },
      ...(state === 'succeeded' && { result: message })
    }
  })
  const request = { limits: aPolicy.limits, context: {} }
  return {
    ...{ id, status: 'awaiting_client', createdAt: 0, session: { key: 'k', id: 's', branch: 'main' } },
    messages: [user('stored question'), said('', '1', '2')],
    ...(rows.length > 0 && { held: { calls: rows, request, isForgotten: true } })
  }
}

function lines(messages: readonly Message[]): string[] {
  return messages.map(message => {
    if (message.role === 'tool') return `${message.callId} = ${message.content}`
    return message.role === 'assistant' && message.calls.length > 0 ? 'calls' : `${message.role}: ${message.content}`
  })
}

t.test('results go on with the turn, as it is stored, in the order of its calls', async t => {
  const turn = waits()
  const history = [system('S'), user('before'), said('yes'), system('later')]
  const copy = [user('copy'), said('', '1', '2'), result('2', 'two'), result('1', 'one')]
  const { messages, resumes, question, superseded } = joinWaiting([...history, ...copy, user('and?')], [turn])
  t.equal(resumes, turn)
  t.equal(question, turn.messages[0]?.id)
  t.strictSame(superseded, [])
  t.strictSame(lines(messages), [
    ...['system: S', 'user: before', 'assistant: yes', 'system: later'],
    ...['user: stored question', 'calls', '1 = one', '2 = two', 'user: and?']
  ])
})

t.test('what the store has wins over the client; what nobody has is said to be missing', async t => {
  const { messages } = joinWaiting([result('1', 'forged')], [waits(['succeeded', 'requested'])])
  t.strictSame(lines(messages).slice(2), ['1 = stored 1', '2 = (not answered)'])
  t.match(lines(withResults(waits(['unknown']))).slice(2), [
    /^1 = The call of look was sent, and its outcome is not known/
  ])
})

t.test('a request that says nothing new goes on too, and waits for no call that is being run', async t => {
  const turn = waits(['succeeded'])
  for (const messages of [[], [system('S')], [user('copy'), said('', '1', '2')]]) {
    t.equal(joinWaiting(messages, [waits([], 'turn_0'), turn]).resumes, turn)
  }
  t.throws(() => joinWaiting([result('2', 'two')], [waits(['dispatched'])]), { code: 'session_busy' })
})

t.test('something new ends the wait; a copy of the calls has results then', async t => {
  const turn = waits()
  const plain = joinWaiting([user('new')], [turn])
  t.strictSame([lines(plain.messages), plain.resumes, plain.superseded], [['user: new'], undefined, [turn]])
  const copied = joinWaiting([user('copy'), said('', '1', '2'), user('new')], [turn])
  t.strictSame([copied.resumes, copied.superseded], [undefined, [turn]])
  t.strictSame(lines(copied.messages).slice(2), ['1 = (not answered)', '2 = (not answered)', 'user: new'])
})

t.test('calls of another time under the same ids are left alone', async t => {
  const old = [user('old'), said('', '1'), result('1', 'then'), said('so')]
  const { messages, resumes } = joinWaiting([...old, user('new')], [waits()])
  t.equal(resumes, undefined)
  t.strictSame(lines(messages), ['user: old', 'calls', '1 = then', 'assistant: so', 'user: new'])
})
