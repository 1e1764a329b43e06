/** What providers answer, and what we make of it: spec/wire.md §2.3, over real sockets. */
import t from 'tap'
import type { Answer, Delta, ToolCall } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { openaiProvider } from '../../src/providers/openai/provider.ts'
import { aTurn, listener, toolbox } from '../helper/turn.ts'
import { chunk, DONE, event, type Step, scriptedServer } from './scripted-server.ts'

const TIMEOUTS = { connectMs: 2000, firstByteMs: 2000, idleMs: 2000 }

interface Outcome {
  answer: Answer | undefined
  error: GatewayError | undefined
  heard: Delta[]
  text: string
  told: ReturnType<typeof aTurn>['told']
}

async function ask(step: Step, options: { stream?: boolean; transport?: 'http' | 'sdk' } = {}): Promise<Outcome> {
  const { stream = true, transport = 'http' } = options
  await using server = await scriptedServer(step)
  const provider = openaiProvider({ name: 'up', baseUrl: server.url, timeouts: TIMEOUTS, transport })
  const { emit, heard, text } = listener()
  const turn = aTurn({ ...(stream && { emit }), prompt: { ...aTurn().prompt, tools: toolbox({ f: undefined }) } })
  const answer = await provider.chat(turn).catch((error: unknown) => error)
  await provider.close()
  if (answer instanceof Error && !(answer instanceof GatewayError)) throw answer
  const failed = answer instanceof GatewayError
  return {
    answer: failed ? undefined : (answer as Answer),
    error: failed ? answer : undefined,
    heard,
    text: text(),
    told: turn.told
  }
}

function streamed(...chunks: readonly string[]): Step {
  return { chunks }
}

function body(value: unknown, type = 'application/json'): Step {
  return { headers: { 'content-type': type }, chunks: [typeof value === 'string' ? value : JSON.stringify(value)] }
}

const head = chunk({ role: 'assistant', content: '' })
const stop = chunk({}, 'stop')
const calls = (...entries: readonly unknown[]): string => chunk({ tool_calls: entries })
const fn = (name?: string, args?: unknown): unknown => ({
  ...(name !== undefined && { name }),
  ...(args !== undefined && { arguments: args })
})

const CALLS: Record<string, { chunks: string[]; want: Partial<ToolCall>[] }> = {
  'index missing, one call': {
    chunks: [calls({ id: 'a', type: 'function', function: fn('f', '{"x":1}') })],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'index missing, a new id opens a new call': {
    chunks: [calls({ id: 'a', function: fn('f', '{}') }), calls({ id: 'b', function: fn('g', '{}') })],
    want: [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{}' }
    ]
  },
  'index missing, known ids and tails without any': {
    chunks: [
      calls({ id: 'a', function: fn('f', '{') }),
      calls({ id: 'b', function: fn('g', '{') }),
      calls({ id: 'a', function: fn(undefined, '}') }),
      calls({ function: fn(undefined, '}') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{}' }
    ]
  },
  'neither index nor id: names tell calls apart': {
    chunks: [
      calls({ function: fn('f', '{"x":') }),
      calls({ function: fn('f', '1}') }),
      calls({ function: fn('f', '{"x":2}') }),
      calls({ function: fn('g', '{}') })
    ],
    want: [
      { name: 'f', arguments: '{"x":1}' },
      { name: 'f', arguments: '{"x":2}' },
      { name: 'g', arguments: '{}' }
    ]
  },
  'same index, two ids': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '1') }),
      calls({ index: 0, id: 'b', function: fn('g', '2') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '1' },
      { id: 'b', name: 'g', arguments: '2' }
    ]
  },
  'same index for all, tails without id belong to the newest': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '') }),
      calls({ index: 0, function: fn(undefined, '{"x":1}') }),
      calls({ index: 0, id: 'b', function: fn('g', '') }),
      calls({ index: 0, function: fn(undefined, '{"y":2}') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: '{"y":2}' }
    ]
  },
  'second head under the wrong index, its tail under the next': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '1') }),
      calls({ index: 0, id: 'b', function: fn('f', '') }),
      calls({ index: 1, function: fn(undefined, '2') }),
      calls({ index: 1, function: fn(undefined, '3') })
    ],
    want: [
      { id: 'a', arguments: '1' },
      { id: 'b', arguments: '23' }
    ]
  },
  'id and name repeated in each fragment': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{') }),
      calls({ index: 0, id: 'a', function: fn('f', '}') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{}' }]
  },
  'placeholder ids and names': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{') }),
      calls({ index: 0, id: 'null', function: fn('', '"x":') }),
      calls({ index: 0, id: '', function: fn('', '1}') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'one id under two indexes is two calls': {
    chunks: [
      calls({ index: 0, id: 'd', function: fn('f', '1') }),
      calls({ index: 1, id: 'd', function: fn('f', '2') })
    ],
    want: [
      { id: 'd', arguments: '1' },
      { id: 'd', arguments: '2' }
    ]
  },
  'indexes that begin at 1 and interleave': {
    chunks: [
      calls({ index: 1, id: 'a', function: fn('f', '') }, { index: 2, id: 'b', function: fn('g', '') }),
      calls({ index: 2, function: fn(undefined, '2') }, { index: 1, function: fn(undefined, '1') })
    ],
    want: [
      { id: 'a', arguments: '1' },
      { id: 'b', arguments: '2' }
    ]
  },
  'two calls in one chunk': {
    chunks: [calls({ index: 0, id: 'a', function: fn('f', '1') }, { index: 1, id: 'b', function: fn('g', '2') })],
    want: [
      { id: 'a', name: 'f' },
      { id: 'b', name: 'g' }
    ]
  },
  'arguments before the name': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn(undefined, '{"x":') }),
      calls({ index: 0, function: fn(undefined, '1}') }),
      calls({ index: 0, function: fn('f') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'arguments null, absent or an object': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', null) }),
      calls({ index: 1, id: 'b', function: fn('f') }),
      calls({ index: 2, id: 'c', function: fn('f', { x: 1 }) })
    ],
    want: [
      { id: 'a', arguments: '' },
      { id: 'b', arguments: '' },
      { id: 'c', arguments: '{"x":1}' }
    ]
  },
  'fields beside the function are kept': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{}'), extra_content: { google: { thought_signature: 's' } } })
    ],
    want: [{ id: 'a', extra: { extra_content: { google: { thought_signature: 's' } } } }]
  },
  'a custom tool': {
    chunks: [
      calls({ index: 0, id: 'a', type: 'custom', custom: { name: 'sql', input: 'select ' } }),
      calls({ index: 0, custom: { input: '1' } })
    ],
    want: [
      {
        id: 'a',
        name: 'sql',
        arguments: 'select 1',
        extra: { type: 'custom', custom: { name: 'sql', input: 'select 1' } }
      }
    ]
  },
  'the old function_call': {
    chunks: [chunk({ function_call: fn('f', '{') }), chunk({ function_call: fn(undefined, '}') })],
    want: [{ name: 'f', arguments: '{}' }]
  }
}

t.test('calls are put together from deltas of every kind', async t => {
  for (const [title, { chunks, want }] of Object.entries(CALLS)) {
    const { answer, heard } = await ask(streamed(head, ...chunks, chunk({}, 'tool_calls'), DONE))
    t.match(answer?.message.calls, want, title)
    t.equal(answer?.message.calls.length, want.length, `${title}: as many`)
    t.equal(answer?.finish, 'stop', `${title}: the loop decides by the presence of calls`)
    t.ok(
      answer?.message.calls.every(({ id }) => id !== ''),
      `${title}: each has an id`
    )
    const bare = answer?.message.calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }))
    t.same(assembled(heard), bare, `${title}: the pieces add up to the same`)
  }
})

/** The pieces as a client adds them up: the first of a call must name it. */
function assembled(heard: readonly Delta[]): unknown[] {
  const all: { id: string; name: string; arguments: string }[] = []
  for (const delta of heard) {
    if (delta.type !== 'call') continue
    const call = all[delta.index]
    if (call !== undefined) call.arguments += delta.arguments
    else all[delta.index] = { id: delta.id ?? 'MISSING', name: delta.name ?? 'MISSING', arguments: delta.arguments }
  }
  return all
}

t.test('a call that is never named is a failure, unless the length cut it off', async t => {
  const nameless = calls({ index: 0, id: 'a', function: fn(undefined, '{"x"') })
  const { error } = await ask(streamed(nameless, chunk({}, 'tool_calls'), DONE))
  t.equal(error?.code, 'upstream_invalid_response')
  const { answer } = await ask(streamed(chunk({ content: 'hi' }), nameless, chunk({}, 'length'), DONE))
  t.equal(answer?.finish, 'length')
  t.same(answer?.message.calls, [])
})

t.test('calls of a JSON answer are one per entry, whatever they lack', async t => {
  const message = { content: null, tool_calls: [{ function: fn('f', '{}') }, { function: fn('f', '{"x":1}') }] }
  for (const stream of [true, false]) {
    const { answer, heard } = await ask(body({ choices: [{ message, finish_reason: 'tool_calls' }] }), { stream })
    t.match(answer?.message.calls, [
      { name: 'f', arguments: '{}' },
      { name: 'f', arguments: '{"x":1}' }
    ])
    t.equal(heard.length, stream ? 2 : 0)
  }
})

const LABELS = {
  stop: ['stop', 'end_turn', 'eos', 'eos_token', 'COMPLETE', 'tool_calls', 'a word nobody knows'],
  length: ['length', 'max_tokens', 'MAX_TOKENS', 'model_length'],
  content_filter: ['content_filter', 'SAFETY', 'refusal']
}

t.test('finish reasons come down to three', async t => {
  for (const [finish, words] of Object.entries(LABELS)) {
    for (const word of words) {
      const { answer } = await ask(streamed(head, chunk({ content: 'hi' }, word), DONE))
      t.equal(answer?.finish, finish, word)
    }
  }
  const cut = calls({ index: 0, id: 'a', function: fn('f', '{"ci') })
  t.equal((await ask(streamed(cut, chunk({}, 'length'), DONE))).answer?.finish, 'length', 'also beside calls')
  t.equal((await ask(streamed(head, chunk({ content: 'x' }, 'error'), DONE))).error?.code, 'upstream_error')
})

t.test('an end needs a finish reason or [DONE]', async t => {
  t.equal((await ask(streamed(chunk({ content: 'hi' }), DONE))).answer?.finish, 'stop', 'only [DONE]')
  t.equal((await ask(streamed(chunk({ content: 'hi' }), stop))).answer?.finish, 'stop', 'only a finish reason')
  t.equal((await ask(streamed(chunk({ content: 'hi' }), stop, 'data:  [DONE] \r\n\r\n'))).answer?.finish, 'stop')
  t.equal((await ask(streamed(chunk({ content: 'hi' }), 'data: [DONE]'))).answer?.finish, 'stop', 'no blank line')

  const cut = await ask(streamed(head, chunk({ content: 'hal' })))
  t.equal(cut.error?.code, 'upstream_disconnected', 'a clean close is none')
  t.equal(cut.error?.transient, true)
  t.equal(cut.text, 'hal')
  const inCall = await ask(streamed(head, calls({ index: 0, id: 'a', function: fn('f', '{"city":') })))
  t.equal(inCall.error?.code, 'upstream_disconnected')
  const reset = await ask({ ...streamed(head, chunk({ content: 'hal' })), end: 'reset' })
  t.equal(reset.error?.code, 'upstream_disconnected')
  t.match(reset.told, [{ type: 'attempt', status: 200, outcome: 'upstream_disconnected' }])
  t.equal((await ask({ ...body('{"choices":[{"mess'), end: 'reset' })).error?.code, 'upstream_disconnected')
})

t.test('nothing after [DONE] counts, though the connection stays open', async t => {
  const startedAt = Date.now()
  const late = { ...streamed(chunk({ content: 'ab' }), stop, DONE, chunk({ content: 'LATE' })), end: 'hang' as const }
  const { answer, text } = await ask(late)
  t.equal(text, 'ab')
  t.equal(answer?.message.content, 'ab')
  t.ok(Date.now() - startedAt < 1500)
})

t.test('an empty answer is none, unless the provider ended it with a reason', async t => {
  const empty = await ask(streamed(DONE))
  t.equal(empty.error?.code, 'upstream_invalid_response')
  t.equal(empty.error?.status, 502)
  t.equal(empty.error?.transient, false)
  const ended = await ask(streamed(head, stop, DONE))
  t.equal(ended.answer?.message.content, '')
  t.match(ended.told, [
    { type: 'note', note: 'empty_answer' },
    { type: 'attempt', outcome: 'ok' }
  ])
  t.equal((await ask(body({ choices: [] }), { stream: false })).error?.code, 'upstream_invalid_response')
  t.equal((await ask(body({ choices: [{ message: { content: null } }] }), { stream: false })).error?.status, 502)
})

t.test('the last usage holds; what is no number does not', async t => {
  const usage = (value: unknown): string => event({ choices: [], usage: value })
  const full = {
    prompt_tokens: 9,
    completion_tokens: 4,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2, audio_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 2, accepted_prediction_tokens: null },
    cost: 0.5
  }
  const said = [head, chunk({ content: 'x' }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }), stop]
  t.same((await ask(streamed(...said, usage(full), DONE))).answer?.usage, {
    prompt: 9,
    completion: 4,
    total: 14,
    cached: 3,
    cacheWrite: 2,
    reasoning: 2,
    other: { 'prompt_tokens_details.audio_tokens': 1, cost: 0.5 }
  })
  for (const odd of [null, {}, { prompt_tokens: -1, completion_tokens: -1 }, 'many']) {
    const { answer } = await ask(streamed(...said, usage(odd), DONE))
    t.same(answer?.usage, { prompt: 1, completion: 1, total: 2 }, JSON.stringify(odd))
  }
  const nullChoices = event({ choices: null, usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } })
  const noChoices = event({ usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })
  t.equal((await ask(streamed(...said, nullChoices, noChoices, DONE))).answer?.usage?.total, 5)
  t.equal((await ask(streamed(head, chunk({ content: 'x' }), stop, DONE))).answer?.usage, undefined)
  const cut = await ask(streamed(...said.slice(0, 2)))
  t.same(cut.error?.detail.usage, { prompt: 1, completion: 1, total: 2 }, 'known also when the answer broke off')
})

t.test('deltas and contents that are null or absent add nothing', async t => {
  const { text, answer } = await ask(
    streamed(
      chunk({ role: 'assistant' }),
      chunk({ content: null, refusal: null, tool_calls: null }),
      chunk(null),
      event({ choices: [{ index: 0, finish_reason: null }] }),
      event({ choices: null }),
      event({ choices: [{ delta: { content: 'a' } }], obfuscation: 'xyz', x_vendor: { t: 1 } }),
      event({ choices: [{ index: 0, finish_reason: 'stop' }] }),
      DONE
    )
  )
  t.equal(text, 'a')
  t.equal(answer?.choice, undefined)
})

t.test('reasoning, refusal, logprobs and unknown fields keep their places', async t => {
  const logprobs = (token: string): unknown => ({ content: [{ token, logprob: -0.1 }], refusal: null })
  const { answer, heard } = await ask(
    streamed(
      chunk({ role: 'assistant', reasoning_content: 'let me', reasoning: 'let me' }),
      chunk({ reasoning_content: ' see' }),
      event({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: logprobs('a') }], system_fingerprint: 'fp' }),
      event({ choices: [{ index: 0, delta: { content: 'b' }, logprobs: logprobs('b') }], service_tier: 'default' }),
      chunk({ refusal: 'no' }),
      chunk({ annotations: [{ n: 1 }], obfuscation: 'zz', channel: 'final' }),
      chunk({ annotations: [{ n: 2 }], channel: 'final' }),
      stop,
      DONE
    )
  )
  t.same(answer?.message.reasoning, { text: 'let me see', field: 'reasoning_content' })
  t.equal(answer?.message.refusal, 'no')
  t.same(answer?.message.extra, { annotations: [{ n: 1 }, { n: 2 }], channel: 'final' })
  t.same(answer?.choice, {
    logprobs: {
      content: [
        { token: 'a', logprob: -0.1 },
        { token: 'b', logprob: -0.1 }
      ],
      refusal: null
    },
    fields: { system_fingerprint: 'fp', service_tier: 'default' }
  })
  t.match(heard[2], { type: 'text', text: 'a', logprobs: { content: [{ token: 'a' }] } })
  t.notMatch(JSON.stringify(heard), 'obfuscation')
})

t.test('of several choices only the first is read, the others are kept as they are', async t => {
  const other = { index: 1, message: { role: 'assistant', content: 'two' }, logprobs: null, finish_reason: 'stop' }
  const first = { index: 0, message: { role: 'assistant', content: 'one' }, finish_reason: 'stop' }
  const whole = await ask(body({ choices: [other, first] }), { stream: false })
  t.equal(whole.answer?.message.content, 'one')
  t.same(whole.answer?.choice?.others, [other])

  const at = (index: number, delta: unknown, finish: string | null = null): string =>
    event({ choices: [{ index, delta, finish_reason: finish }] })
  const { answer, text } = await ask(
    streamed(
      at(0, { content: 'one' }),
      at(1, { content: 'tw' }),
      at(1, { content: 'o' }, 'stop'),
      at(0, {}, 'stop'),
      DONE
    )
  )
  t.equal(text, 'one')
  t.match(answer?.choice?.others, [{ index: 1, message: { role: 'assistant', content: 'two' }, finish_reason: 'stop' }])
})

t.test('the content type of the answer decides how it is read, not the request', async t => {
  const completion = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi', reasoning: 'hm' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  }
  const asStream = await ask(body(completion))
  t.same(asStream.heard, [
    { type: 'reasoning', text: 'hm', field: 'reasoning' },
    { type: 'text', text: 'hi' }
  ])
  t.equal(asStream.answer?.usage?.total, 3)
  const asJson = await ask(streamed(head, chunk({ content: 'h' }), chunk({ content: 'i' }), stop, DONE), {
    stream: false
  })
  t.equal(asJson.answer?.message.content, 'hi')
  for (const type of ['text/plain', 'text/event-stream', 'application/octet-stream']) {
    t.equal((await ask(body(completion, type))).text, 'hi', `JSON called ${type}`)
  }
  const plain = { ...streamed(head, chunk({ content: 'hi' }), stop, DONE), headers: { 'content-type': 'text/plain' } }
  t.equal((await ask(plain)).text, 'hi', 'events called text/plain')
  t.equal((await ask(body('\ufeff{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'))).text, 'hi')
})

t.test('answers that are none are failures without a byte of them', async t => {
  const broken = await ask(
    streamed(head, chunk({ content: 'a' }), 'data: {"id":"up-1","choi\n\n', chunk({ content: 'b' }), DONE)
  )
  t.equal(broken.text, 'a')
  t.equal(broken.error?.code, 'upstream_invalid_response')
  t.notMatch(broken.error?.message, 'choi')
  for (const step of [
    body('<html><h1>Bad</h1></html>', 'text/html'),
    body('{"choi'),
    body('null'),
    body('{"ok":true}')
  ]) {
    const { error } = await ask(step)
    t.equal(error?.code, 'upstream_invalid_response')
    t.notMatch(error?.message, /html|choi\b/)
  }
  const zipped = { ...body('x'), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }
  t.equal((await ask(zipped)).error?.code, 'upstream_invalid_response')
})

const INSIDE: [title: string, said: unknown, code: string, status: number, message?: RegExp, transient?: boolean][] = [
  ['an object', { error: { message: 'boom', code: null } }, 'upstream_error', 502, /boom/, true],
  ['a text', { error: 'boom' }, 'upstream_error', 502, /boom/],
  ['its own status', { error: { message: 'bad field', code: 400 } }, 'upstream_rejected', 400, /bad field/, false],
  ['a status as text', { error: { message: 'bad', code: '422' } }, 'upstream_rejected', 422, /bad/],
  [
    'vendor fields',
    { choices: null, error_message: 'input too long', error_code: 400 },
    'upstream_rejected',
    400,
    /too long/
  ],
  ['too many requests', { error: { message: 'slow', status: 429 } }, 'upstream_rate_limited', 429, /slow/, true],
  ['our key', { error: { message: 'key sk-abcdefgh', code: 401 } }, 'upstream_credentials', 502, /credentials/, false],
  ['its overload', { error: { message: 'SECRET', code: 503 } }, 'upstream_overloaded', 503, /overloaded/, true],
  ['in the choice', { choices: [{ index: 0, error: { message: 'cut', code: 502 } }] }, 'upstream_error', 502],
  [
    'too long a prompt',
    { error: { message: 'x', code: 'context_length_exceeded', status: 400 } },
    'context_length_exceeded',
    400
  ]
]

t.test('an error inside a 200 has the status that it says, in streams and bodies alike', async t => {
  for (const [title, said, code, status, message = /./, transient] of INSIDE) {
    for (const outcome of [
      await ask(streamed(': hb\n\n', event(said), DONE)),
      await ask(body(said), { stream: false })
    ]) {
      t.match(outcome.error, { code, status }, title)
      t.match(outcome.error?.message, message, title)
      t.notMatch(outcome.error?.message, /SECRET|sk-/, title)
      if (transient !== undefined) t.equal(outcome.error?.transient, transient, title)
    }
  }
  t.equal(
    (await ask(streamed('event: error\ndata: out of order\n\n'))).error?.code,
    'upstream_error',
    'by its name alone'
  )
  const later = await ask(streamed(head, chunk({ content: 'hal' }), event({ error: { message: 'boom' } }), DONE))
  t.equal(later.text, 'hal')
  t.match(later.error, { code: 'upstream_error', message: 'boom' })
})

const FAILURES: [status: number, body: string, code: string, want: number, transient: boolean, message?: RegExp][] = [
  [
    400,
    '{"error":{"message":"bad \\u0000 temperature","param":"temperature","code":"invalid_value"}}',
    'upstream_rejected',
    400,
    false,
    /^bad temperature$/
  ],
  [
    400,
    '{"error":{"message":"maximum context length is 8 tokens","code":null}}',
    'context_length_exceeded',
    400,
    false
  ],
  [
    404,
    '{"error":{"message":"no model at https://10.0.0.1/v1 for sk-abcdef123"}}',
    'upstream_rejected',
    404,
    false,
    /^no model at \[url\] for \[id\]$/
  ],
  [413, '<html>too large</html>', 'upstream_rejected', 413, false, /status 413/],
  [
    422,
    '{"detail":[{"msg":"field required"},{"msg":"too short"}]}',
    'upstream_rejected',
    422,
    false,
    /field required; too short/
  ],
  [401, '{"error":{"message":"Incorrect API key"}}', 'upstream_credentials', 502, false, /operator/],
  [402, '', 'upstream_credentials', 502, false],
  [403, '', 'upstream_credentials', 502, false],
  [408, '', 'upstream_error', 502, true],
  [409, '', 'upstream_error', 502, true],
  [405, '', 'upstream_error', 502, false],
  [302, '', 'upstream_error', 502, false],
  [
    429,
    '{"error":{"message":"slow down","code":"rate_limit_exceeded"}}',
    'upstream_rate_limited',
    429,
    true,
    /slow down/
  ],
  [500, '{"error":{"message":"SECRET"}}', 'upstream_error', 502, true, /status 500/],
  [502, '<html><h1>502</h1></html>', 'upstream_error', 502, true],
  [503, 'SECRET', 'upstream_overloaded', 503, true],
  [529, '', 'upstream_overloaded', 503, true],
  [504, '', 'upstream_error', 502, true]
]

t.test('statuses of a provider become errors of ours', async t => {
  for (const [status, text, code, want, transient, message = /./] of FAILURES) {
    for (const transport of ['http', 'sdk'] as const) {
      // The package follows redirects, and keeps of a body only `error`.
      if (transport === 'sdk' && (status < 400 || text.includes('detail'))) continue
      const { error, told } = await ask(
        { status, headers: { 'content-type': 'text/plain' }, chunks: [text || ' '] },
        { transport }
      )
      t.match(
        error,
        { code, status: want, transient, detail: { provider: 'up', upstreamStatus: status } },
        `${status} by ${transport}`
      )
      t.match(error?.message, message, `${status} by ${transport}`)
      t.notMatch(error?.message, /SECRET|html|sk-/, `${status} by ${transport}`)
      t.match(told, [{ type: 'attempt', status, outcome: code }])
    }
  }
  const { error } = await ask({
    status: 400,
    chunks: ['{"error":{"message":"m","param":"temperature","code":"invalid_value"}}']
  })
  t.match(error?.detail, { shownCode: 'invalid_value', param: 'temperature' })
  const numeric = await ask({ status: 400, chunks: ['{"error":{"message":"m","code":"400"}}'] })
  t.equal(numeric.error?.detail.shownCode, undefined, 'a number is no word')
})

t.test('the wait that a provider asks for is kept', async t => {
  const wait = async (headers: Record<string, string>, status = 429): Promise<number | undefined> =>
    (await ask({ status, headers, chunks: ['{}'] })).error?.detail.retryAfterMs
  t.equal(await wait({ 'retry-after': '7' }), 7000)
  t.equal(await wait({ 'retry-after-ms': '250', 'retry-after': '7' }), 250)
  t.equal(await wait({ 'retry-after': '7' }, 503), 7000)
  const inTen = await wait({ 'retry-after': new Date(Date.now() + 10_000).toUTCString() })
  t.ok(inTen !== undefined && inTen > 8000 && inTen <= 10_000)
  t.equal(await wait({ 'retry-after': 'soon' }), undefined)
})

t.test('an error whose body breaks off is still that error', async t => {
  const { error } = await ask({ status: 429, headers: { 'retry-after': '3' }, chunks: ['{"err'], end: 'reset' })
  t.match(error, { code: 'upstream_rate_limited', detail: { retryAfterMs: 3000 } })
})
