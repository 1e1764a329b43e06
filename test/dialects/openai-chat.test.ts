import t from 'tap'
import type { Answer, AssistantMessage, Delta } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatBody, WireMessage } from '../../src/dialects/openai-chat/body.ts'
import { decode } from '../../src/dialects/openai-chat/decode.ts'
import { encode } from '../../src/dialects/openai-chat/encode.ts'
import { errorBody } from '../../src/dialects/openai-chat/errors.ts'
import { ChunkWriter } from '../../src/dialects/openai-chat/stream.ts'
import { framesOf } from '../helper/edge.ts'

const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'sim' }
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

function refusal(run: () => unknown): { code: string; message: string; param: string | undefined } {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, message: error.message, param: error.detail.param }
  }
  throw new Error('was not refused')
}

function anAnswer(message: Partial<AssistantMessage> = {}, rest: Partial<Answer> = {}): Answer {
  const whole: AssistantMessage = { role: 'assistant', id: 'a1', content: 'There are 17.', calls: [], ...message }
  return { message: whole, messages: [whole], finish: 'stop', offered: new Map(), ...rest }
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
    ['no messages', [], {}, 'invalid_request', 'messages'],
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

t.test('encode: an answer as the contract shows it', async t => {
  const usage = { prompt: 100, completion: 16, total: 116 }
  t.equal(
    encode(anAnswer({}, { usage }), head),
    '{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"sim","choices":[{"index":0,' +
      '"message":{"role":"assistant","content":"There are 17.","refusal":null},"logprobs":null,"finish_reason":"stop"}],' +
      '"usage":{"prompt_tokens":100,"completion_tokens":16,"total_tokens":116}}'
  )
  t.notOk(encode(anAnswer(), head).includes('usage'), 'no usage where none is known')
})

t.test('encode: details, reasoning, refusal, calls, fields and choices are passed on', async t => {
  const calls = [{ id: 'c1', name: 'f', arguments: '{}', extra: { extra_content: 1 } }]
  const reported = { prompt: 1, completion: 2, total: 3, cached: 0, reasoning: 1 }
  const usage = { ...reported, other: { 'prompt_tokens_details.audio_tokens': 4, cost: 5 } }
  const choice = {
    logprobs: { content: [] },
    others: [{ index: 1, message: { role: 'assistant', content: 'b' }, finish_reason: 'stop' }],
    fields: { system_fingerprint: 'fp', obfuscation: 'x', id: 'theirs' }
  }
  const message = { content: '', calls, reasoning: { text: 'hm', field: 'reasoning' }, extra: { annotations: [1] } }
  const body = JSON.parse(encode(anAnswer(message, { usage, choice, finish: 'client_calls' }), head, { finish: 'x' }))
  t.strictSame(body, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: head.created,
    model: 'sim',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: null,
          reasoning_content: 'hm',
          annotations: [1],
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: 1 }]
        },
        logprobs: { content: [] },
        finish_reason: 'tool_calls'
      },
      choice.others[0]
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 1 },
      cost: 5
    },
    system_fingerprint: 'fp',
    loopgate: { finish: 'x' }
  })
  const refused = JSON.parse(encode(anAnswer({ content: '', refusal: 'no' }), head)).choices[0].message
  t.match(refused, { content: null, refusal: 'no' })
  t.equal(JSON.parse(encode(anAnswer({ content: '' }), head)).choices[0].message.content, '')
})

t.test('encode: every end of a turn has its finish_reason', async t => {
  const table = {
    stop: 'stop',
    return_direct: 'stop',
    length: 'length',
    content_filter: 'content_filter',
    client_calls: 'tool_calls',
    tool_call_limit: 'length',
    identical_calls: 'length',
    round_limit: 'length',
    token_limit: 'length',
    time_limit: 'length'
  } as const
  for (const [finish, reason] of Object.entries(table)) {
    const body = encode(anAnswer({}, { finish: finish as keyof typeof table }), head)
    t.equal(JSON.parse(body).choices[0].finish_reason, reason, finish)
  }
})

function streamed(deltas: readonly Delta[], answer: Answer, includeUsage = false, report?: Record<string, unknown>) {
  const writer = new ChunkWriter(head, { includeUsage })
  const text = writer.start() + deltas.map(delta => writer.delta(delta)).join('') + writer.end(answer, report)
  return framesOf(text)
}

t.test('stream: role once, constant head, one finish, usage last, then [DONE] (W4, W5, W7, W8, W9)', async t => {
  const usage = { prompt: 1, completion: 2, total: 3 }
  const deltas: Delta[] = [
    { type: 'reasoning', text: 'hm', field: 'reasoning' },
    { type: 'text', text: '' },
    { type: 'text', text: 'a\n"\u2028é', logprobs: { content: [{ token: 'a' }] } },
    { type: 'refusal', text: 'no' },
    { type: 'fields', fields: { annotations: [1], role: 'assistant', content: 'twice' } }
  ]
  const fields = { system_fingerprint: 'fp' }
  const chunks = streamed(deltas, anAnswer({}, { usage, choice: { fields } }), true, { finish: 'stop' })
  t.equal(chunks.at(-1), '[DONE]')
  const bodies = chunks.slice(0, -1)
  for (const { id, object, created, model, choices } of bodies) {
    t.match({ id, object, created, model }, { ...head, object: 'chat.completion.chunk' })
    t.ok(Array.isArray(choices))
  }
  t.strictSame(
    bodies.flatMap(({ choices }) => choices),
    [
      { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
      { index: 0, delta: { reasoning_content: 'hm' }, finish_reason: null },
      { index: 0, delta: { content: 'a\n"\u2028é' }, logprobs: { content: [{ token: 'a' }] }, finish_reason: null },
      { index: 0, delta: { refusal: 'no' }, finish_reason: null },
      { index: 0, delta: { annotations: [1] }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: 'stop' }
    ]
  )
  t.strictSame(
    bodies.map(({ usage }) => usage),
    [null, null, null, null, null, null, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }]
  )
  t.equal(bodies.at(-2).system_fingerprint, 'fp')
  t.strictSame(bodies.at(-1).loopgate, { finish: 'stop' })
})

t.test('stream: no usage asked, none said; asked but unknown, no usage chunk (W8)', async t => {
  const usage = { prompt: 1, completion: 2, total: 3 }
  t.notOk(streamed([], anAnswer({}, { usage })).some(chunk => 'usage' in Object(chunk)))
  t.equal(streamed([], anAnswer(), true).length, 3)
})

/** What an SDK adds up; fails on what SDKs fail on: a repeated head, a piece of a call that is over. */
function callsOf(chunks: readonly { choices?: { delta: { tool_calls?: Record<string, never>[] } }[] }[]) {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const piece of chunks.flatMap(({ choices }) => choices?.flatMap(({ delta }) => delta.tool_calls ?? []) ?? [])) {
    const {
      index,
      id,
      type,
      function: fn
    } = piece as never as {
      index: number
      id?: string
      type?: string
      function: { name?: string; arguments: string }
    }
    if (id !== undefined) {
      if (index !== calls.length || type !== 'function' || !fn.name) throw new Error('a bad head')
      calls.push({ id, name: fn.name, arguments: fn.arguments })
    } else {
      if (index !== calls.length - 1 || fn.name !== undefined || type !== undefined) throw new Error('a bad piece')
      const call = calls[index]
      if (call) call.arguments += fn.arguments
    }
  }
  return calls
}

const piece = (index: number, text: string, name?: string): Delta => ({
  type: 'call',
  index,
  arguments: text,
  ...(name && { id: `c${index}`, name })
})

t.test('stream: interleaved calls leave one after another (W6)', async t => {
  const calls = [
    { id: 'c0', name: 'f', arguments: '{"city":"Oslo"}' },
    { id: 'c1', name: 'g', arguments: '{"city":"Rome"}' },
    { id: 'c2', name: 'h', arguments: '' }
  ]
  const deltas = [
    piece(0, '', 'f'),
    piece(1, '', 'g'),
    piece(0, '{"city"'),
    piece(1, '{"city":'),
    piece(2, '', 'h'),
    piece(0, ':"Oslo"}'),
    piece(1, '"Rome"}')
  ]
  t.strictSame(callsOf(streamed(deltas, anAnswer({ calls, content: '' }, { finish: 'client_calls' }))), calls)
})

t.test('stream: a call goes out as it comes, the next as soon as the one before is whole', async t => {
  const writer = new ChunkWriter(head)
  t.match(framesOf(writer.delta(piece(0, '{"a":', 'f'))), [{}, {}])
  t.equal(writer.delta(piece(1, '{"b', 'g')), '', 'the first is not over')
  t.equal(framesOf(writer.delta(piece(0, '1}'))).length, 1)
  const released = framesOf(writer.delta(piece(1, '":2}')))
  t.strictSame(
    callsOf([
      {
        choices: [
          {
            delta: {
              tool_calls: [{ index: 0, id: 'c0', type: 'function', function: { name: 'f', arguments: '' } } as never]
            }
          }
        ]
      },
      ...released
    ]).at(-1),
    {
      id: 'c1',
      name: 'g',
      arguments: '{"b":2}'
    }
  )
  t.equal(writer.delta(piece(0, ' \n')), '', 'white space after a whole call is nothing')
  const calls = [
    { id: 'c0', name: 'f', arguments: '{"a":1}' },
    { id: 'c1', name: 'g', arguments: '{"b":2}' }
  ]
  t.equal(callsOf(framesOf(writer.end(anAnswer({ calls })))).length, 0, 'nothing is sent twice')
})

t.test('stream: a call that goes on after its arguments were whole cannot be told, and is a failure', async t => {
  const writer = new ChunkWriter(head)
  for (const delta of [piece(0, '{}', 'f'), piece(1, '{}', 'g'), piece(0, '{"a":1}')]) writer.delta(delta)
  t.match(
    refusal(() => writer.end(anAnswer())),
    { code: 'upstream_invalid_response' }
  )
})

t.test('stream: a call without an id waits for the one it is given; a custom call goes whole', async t => {
  const custom = { id: 'c1', type: 'custom', custom: { name: 'grep', input: 'a' } }
  const deltas: Delta[] = [
    { type: 'call', index: 0, name: 'f', arguments: '{}' },
    { type: 'call', index: 1, id: 'c1', name: 'grep', arguments: 'a', extra: custom }
  ]
  const calls = [
    { id: 'call_given', name: 'f', arguments: '{}' },
    { id: 'c1', name: 'grep', arguments: 'a', extra: custom }
  ]
  const sent = streamed(deltas, anAnswer({ calls }))
    .flatMap(({ choices }) => choices ?? [])
    .flatMap(({ delta }) => delta.tool_calls ?? [])
  t.strictSame(sent, [
    { index: 0, id: 'call_given', type: 'function', function: { name: 'f', arguments: '{}' } },
    { index: 1, ...custom }
  ])
})

t.test('stream: other choices come after choice 0 has ended, each with role and finish once (W13)', async t => {
  const others = [{ index: 1, message: { role: 'assistant', content: 'b', refusal: null }, finish_reason: 'length' }]
  const choices = streamed([{ type: 'text', text: 'a' }], anAnswer({}, { choice: { others } })).flatMap(
    ({ choices }) => choices ?? []
  )
  t.strictSame(
    choices.map(({ index, finish_reason }) => [index, finish_reason]),
    [
      [0, null],
      [0, null],
      [0, 'stop'],
      [1, null],
      [1, 'length']
    ]
  )
  t.strictSame(choices[3].delta, { role: 'assistant', content: 'b', refusal: null })
})

t.test(
  'stream: an event rides on a chunk without choices; a failure is one frame and nothing more (W4, W10)',
  async t => {
    const writer = new ChunkWriter(head, { includeUsage: true })
    t.strictSame(framesOf(writer.event({ type: 'round.start', n: 1 })), [
      {
        ...head,
        object: 'chat.completion.chunk',
        choices: [],
        loopgate: { event: { type: 'round.start', n: 1 } },
        usage: null
      }
    ])
    const text = writer.error(new GatewayError('upstream_timeout', 'Too slow.', { phase: 'idle', provider: 'up' }))
    t.equal(
      text,
      'data: {"error":{"message":"Too slow.","type":"upstream_error","param":null,"code":"upstream_timeout",' +
        '"phase":"idle","provider":"up"}}\n\n'
    )
    t.match(
      JSON.parse(errorBody(new GatewayError('upstream_rejected', 'x', { shownCode: 'too_long', upstreamStatus: 422 }))),
      {
        error: { type: 'invalid_request_error', code: 'too_long', upstream_status: 422 }
      }
    )
  }
)
