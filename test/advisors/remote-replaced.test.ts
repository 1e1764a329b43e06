import t from 'tap'
import { replaced } from '../../src/advisors/remote-replaced.ts'
import type { Answer, AssistantMessage, Message, ToolCall, ToolMessage } from '../../src/core/chat.ts'
import type { HeldCall } from '../../src/core/held-calls.ts'
import { withMessage } from '../../src/core/with-message.ts'

const call = (id: string): ToolCall => ({ id, name: id, arguments: '{}' })
const result: ToolMessage = { role: 'tool', id: 'r1', callId: 'ours', content: '17' }
const written: AssistantMessage = {
  ...{ role: 'assistant', id: 'a1', content: 'secret' },
  calls: [call('ours'), call('page'), call('print')]
}
const held = (index: number, callId: string): HeldCall => ({
  ...{ id: `tc_x${index}`, round: 1, index, callId, tool: callId, toolVersion: 0, runner: 'client', effect: 'write' },
  ...{ arguments: '{}', state: 'requested' },
  ...(callId === 'ours' && { state: 'succeeded' as const, runner: 'gateway' as const, result })
})

/** One call of three has run; two are the client's. */
const batch: Answer = {
  message: { ...written, calls: written.calls.slice(1) },
  messages: [written, result],
  finish: 'client_calls',
  offered: new Map(),
  held: [held(0, 'ours'), held(1, 'page'), held(2, 'print')]
}
const message = (content: string, calls: readonly ToolCall[]): AssistantMessage => ({
  ...{ role: 'assistant', id: 'new', content, calls }
})
const callsOf = (each: Message | undefined) => (each?.role === 'assistant' ? each.calls.map(({ id }) => id) : [])

t.test('a batch that waits for the client keeps its calls under other words', async t => {
  const now = replaced(batch, { kind: 'message', message: message('Fine.', batch.message.calls) })
  t.match(now, { finish: 'client_calls', message: { id: 'a1', content: 'Fine.' } })
  t.strictSame(now.held, batch.held)
  t.strictSame(callsOf(now.messages[0]), ['ours', 'page', 'print'])
  t.equal(now.messages[1], result)
  t.notMatch(JSON.stringify(now.messages), /secret/)
})

t.test('a call that was taken out is waited for no more', async t => {
  const now = replaced(batch, { kind: 'message', message: message('Fine.', [call('print')]) })
  t.strictSame(callsOf(now.message), ['print'])
  t.strictSame(callsOf(now.messages[0]), ['ours', 'print'])
  t.strictSame(
    now.held?.map(({ callId }) => callId),
    ['ours', 'print']
  )
})

t.test('with no call left the turn is over; what ran stays in the conversation', async t => {
  for (const kind of ['message', 'answer'] as const) {
    const now = replaced(batch, { kind, message: message('Enough.', []), finish: 'stop' })
    t.equal(now.held, undefined)
    t.match(now, { finish: 'stop', message: { content: 'Enough.', calls: [] } })
    t.strictSame(
      now.messages.map(({ role, content }) => `${role}: ${String(content)}`),
      ['assistant: ', 'tool: 17', 'assistant: Enough.']
    )
    t.strictSame(callsOf(now.messages[0]), ['ours'])
    t.equal(now.messages.at(-1), now.message)
    t.equal(new Set(now.messages.map(({ id }) => id)).size, 3)
  }
  const none = { ...batch, messages: [written], held: [held(1, 'page'), held(2, 'print')] }
  const now = replaced(none, { kind: 'answer', message: message('Enough.', []), finish: 'stop' })
  t.strictSame(now.messages, [now.message])
})

t.test('what was said of the form of an answer goes with its words', async t => {
  const said: AssistantMessage = { ...written, content: '{"a":1}', calls: [] }
  const structured = { valid: true, attempts: 1, errors: [] }
  const judged: Answer = { message: said, messages: [said], finish: 'stop', offered: new Map(), structured }
  for (const kind of ['message', 'answer'] as const) {
    const changed = replaced(judged, { kind, message: message('No JSON.', []), finish: 'stop' })
    t.notOk('structured' in changed)
    t.equal(replaced(judged, { kind, message: message('{"a":1}', []), finish: 'stop' }).structured, structured)
  }
  t.notOk('structured' in withMessage(judged, { ...said, content: 'No JSON.' }))
  t.equal(withMessage(judged, { ...said, refusal: 'x' }).structured, structured)
})
