import t from 'tap'
import { chatShapes } from '../../../src/dialects/openai-chat/shapes.ts'
import { refusal } from '../../helper/refusal.ts'

const { decodeMessages, decodeReply, decodeAnswer, encodeMessage } = chatShapes
const id = 'msg_1'

t.test('a reply of the assistant, whose role may be left out', async t => {
  t.strictSame(decodeReply({ content: 'Yes.' }, id), { role: 'assistant', id, content: 'Yes.', calls: [] })
  t.strictSame(decodeReply({ role: 'assistant', content: null, refusal: 'No.', tool_calls: null }, id), {
    ...{ role: 'assistant', id, content: '', calls: [] },
    refusal: 'No.'
  })
  const rich = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Yes.' }],
    reasoning_content: 'Thought.',
    annotations: [1],
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'stock', arguments: '{}' } }]
  }
  t.strictSame(decodeReply(rich, id), {
    ...{ role: 'assistant', id, content: [{ type: 'text', text: 'Yes.' }] },
    calls: [{ id: 'c1', name: 'stock', arguments: '{}' }],
    reasoning: { text: 'Thought.', field: 'reasoning_content' },
    extra: { annotations: [1] }
  })
  t.strictSame(encodeMessage(decodeReply(rich, id)), rich, 'and back')
  for (const wrong of ['x', null, [], { role: 'user', content: 'x' }, { content: 7 }, { tool_calls: [null] }]) {
    t.equal(refusal(() => decodeReply(wrong, id)).code, 'invalid_request', JSON.stringify(wrong))
  }
})

t.test('an answer is a message or a whole completion', async t => {
  t.match(decodeAnswer({ content: 'No.' }, id), { message: { id, content: 'No.' }, finish: 'stop' })
  const usage = { prompt_tokens: 1 }
  const completion = (choice: object) => ({ choices: [{ message: { content: 'No.' }, ...choice }], usage })
  t.match(decodeAnswer(completion({}), id), { message: { content: 'No.' }, finish: 'stop', usage })
  t.match(decodeAnswer(completion({ finish_reason: 'content_filter' }), id), { finish: 'content_filter' })
  t.equal(
    refusal(() => decodeAnswer(completion({ finish_reason: 'tool_calls' }), id)).param,
    'answer.choices[0].finish_reason'
  )
  t.equal(refusal(() => decodeAnswer({ choices: 'x' }, id)).param, 'answer.choices')
})

t.test('messages from outside are held to what the decoder relies on', async t => {
  const fields: readonly (readonly [unknown, string])[] = [
    [undefined, 'messages'],
    [[], 'messages'],
    [['x'], 'messages[0]'],
    [[{ role: 'robot' }], 'messages[0].role'],
    [[{ role: 'user', content: {} }], 'messages[0].content'],
    [[{ role: 'user', content: [1] }], 'messages[0].content'],
    [[{ role: 'user', content: [{ type: 'text', text: 1 }] }], 'messages[0].content[0].text'],
    [[{ role: 'user', content: 'x', name: 1 }], 'messages[0].name'],
    [[{ role: 'tool', tool_call_id: 1 }], 'messages[0].tool_call_id'],
    [[{ role: 'assistant', tool_calls: {} }], 'messages[0].tool_calls'],
    [[{ role: 'assistant', tool_calls: [{ function: { name: 'a' } }] }], 'messages[0].tool_calls[0].id'],
    [[{ role: 'assistant', tool_calls: [{ id: 'a' }] }], 'messages[0].tool_calls[0].function'],
    [[{ role: 'assistant', function_call: 'a' }], 'messages[0].function_call']
  ]
  for (const [wire, param] of fields) {
    t.equal(refusal(() => decodeMessages(wire, () => id)).param, param, JSON.stringify(wire))
  }
})
