import t from 'tap'
import type { ChatBody, WireMessage } from '../../../src/dialects/openai-chat/body.ts'
import { decode } from '../../../src/dialects/openai-chat/decode.ts'
import { refusal } from '../../helper/refusal.ts'

const user: WireMessage = { role: 'user', content: 'Weather?' }

const called = (...ids: string[]): WireMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }))
})

const result = (tool_call_id: string): WireMessage => ({ role: 'tool', tool_call_id, content: '21' })

function decoded(messages: readonly WireMessage[], rest: Partial<ChatBody> = {}) {
  let id = 0
  return decode({ messages, ...rest }, () => `m${id++}`)
}

t.test('decode: every role comes into the one form, what the client brought as history is marked', async t => {
  const { messages } = decoded([
    { role: 'developer', content: 'Be brief.' },
    { role: 'system', content: [{ type: 'text', text: 'You count.' }], name: 'house' },
    { role: 'user', content: 'old question' },
    { role: 'assistant', content: '', reasoning_content: 'hm', tool_calls: called('c1').tool_calls },
    { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: '21' }] },
    { role: 'assistant', refusal: 'no' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?', prompt_cache_breakpoint: true },
        { type: 'image_url', image_url: { url: 'data:x' } }
      ]
    }
  ])
  t.strictSame(messages, [
    { role: 'system', id: 'm0', content: 'Be brief.', developer: true },
    { role: 'system', id: 'm1', content: [{ type: 'text', text: 'You count.' }], extra: { name: 'house' } },
    { role: 'user', id: 'm2', content: 'old question', origin: 'client' },
    {
      role: 'assistant',
      id: 'm3',
      content: '',
      calls: [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Oslo"}' }],
      empty: 'text',
      extra: { reasoning_content: 'hm' },
      origin: 'client'
    },
    { role: 'tool', id: 'm4', callId: 'c1', content: [{ type: 'text', text: '21' }], origin: 'client' },
    {
      role: 'assistant',
      id: 'm5',
      content: '',
      calls: [],
      empty: 'absent',
      extra: { refusal: 'no' },
      origin: 'client'
    },
    {
      role: 'user',
      id: 'm6',
      content: [
        { type: 'text', text: 'What is this?', extra: { prompt_cache_breakpoint: true } },
        { type: 'other', value: { type: 'image_url', image_url: { url: 'data:x' } } }
      ]
    }
  ])
})

t.test('decode: deprecated functions become tools, their results find the call by its name', async t => {
  const { messages, clientTools, params } = decoded(
    [
      user,
      { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } },
      { role: 'function', name: 'get_weather', content: '21' }
    ],
    { functions: [{ name: 'get_weather', parameters: { type: 'object' } }], function_call: { name: 'get_weather' } }
  )
  const [, call, answer] = messages
  t.equal(call?.role === 'assistant' && call.calls[0]?.id, answer?.role === 'tool' && answer.callId)
  t.strictSame(clientTools.get('get_weather')?.declared, {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object' } }
  })
  t.strictSame(params, { tool_choice: { type: 'function', function: { name: 'get_weather' } } })
  t.match(
    refusal(() => decoded([user, { role: 'function', name: 'other', content: '1' }])),
    {
      code: 'invalid_request',
      param: 'messages[1].name'
    }
  )
})

t.test('decode: calls keep what only their provider understands; objects as arguments become text', async t => {
  const custom = { id: 'c2', type: 'custom', custom: { name: 'grep', input: 'a b' } }
  const { messages, clientTools } = decoded(
    [
      user,
      {
        role: 'assistant',
        content: 'x',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: { a: 1 } }, extra_content: { g: 1 } },
          custom
        ]
      },
      result('c1'),
      result('c2')
    ],
    { tools: [{ type: 'custom', custom: { name: 'grep' } }, { type: 'web_search' }] }
  )
  const [, said] = messages
  t.strictSame(said?.role === 'assistant' && said.calls, [
    { id: 'c1', name: 'f', arguments: '{"a":1}', extra: { extra_content: { g: 1 } } },
    { id: 'c2', name: 'grep', arguments: 'a b', extra: custom }
  ])
  t.strictSame([...clientTools.keys()], ['grep', 'web_search:1'])
})

t.test('decode: settings pass unread, what is the gateway’s own does not', async t => {
  const request = decoded([user], {
    model: 'sim',
    temperature: 0.2,
    metadata: { session_id: 's2', a: 1 },
    vendor_field: { deep: true },
    stream: true,
    stream_options: { include_usage: true },
    session_id: 's1',
    conversation: { id: 's3' },
    loopgate: { tools: [] },
    tools: []
  })
  t.strictSame(request.params, { temperature: 0.2, metadata: { session_id: 's2', a: 1 }, vendor_field: { deep: true } })
  t.strictSame(request.sessionIds, ['s1', 's2', 's3'])
  t.match(request, { model: 'sim', stream: true, includeUsage: true, loopgate: { tools: [] } })
  t.strictSame(decoded([user], { conversation: 's4', session_id: null }).sessionIds, [undefined, undefined, 's4'])
})

t.test('decode: what cannot be is refused with the field named', async t => {
  const cases: readonly [string, readonly WireMessage[], Partial<ChatBody>, string, string][] = [
    ['user without content', [{ role: 'user' }], {}, 'invalid_request', 'messages[0].content'],
    [
      'text part without text',
      [{ role: 'user', content: [{ type: 'text' }] }],
      {},
      'invalid_request',
      'messages[0].content[0].text'
    ],
    ['result without id', [user, { role: 'tool', content: '1' }], {}, 'invalid_request', 'messages[1].tool_call_id'],
    [
      'call without id',
      [user, { role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }],
      {},
      'invalid_request',
      'messages[1].tool_calls[0].id'
    ],
    [
      'second result',
      [user, called('a', 'b'), result('a'), result('b'), result('b')],
      {},
      'invalid_request',
      'messages[4].tool_call_id'
    ],
    ['two tools of a name', [user], { tools: [tool('x'), tool('x')] }, 'tool_name_conflict', 'tools[1].function.name'],
    [
      'tool and function of a name',
      [user],
      { tools: [tool('x')], functions: [{ name: 'x' }] },
      'tool_name_conflict',
      'functions[0].name'
    ],
    ['empty function tool', [user], { tools: [{ type: 'function' }] }, 'invalid_request', 'tools[0].function']
  ]
  for (const [title, messages, rest, code, param] of cases) {
    t.match(
      refusal(() => decoded(messages, rest)),
      { code, param },
      title
    )
  }
  const { message } = refusal(() => decoded([user, called('a'), result('a'), result('a')]))
  t.match(message, /messages\[3\].*tool_call_id a/)
  t.strictSame(decoded([user, called('a'), result('nope')]).unmatched, [{ index: 2, callId: 'nope' }])
  t.strictSame(decoded([user, called('a'), result('a'), user, called('a'), result('a')]).unmatched, [])
})

function tool(name: string) {
  return { type: 'function', function: { name } }
}
