/** What providers answer, and what we make of it: spec/wire.md §2.3, over real sockets. */
import t from 'tap'
import { ask, body, calls, fn, head, stop, streamed } from './ask.ts'
import { chunk, DONE, event } from './scripted-server.ts'

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
  t.match(reset.told, [{ type: 'attempt.start' }, { type: 'attempt', status: 200, outcome: 'upstream_disconnected' }])
  t.equal((await ask({ ...body('{"choices":[{"mess'), end: 'reset' })).error?.code, 'upstream_disconnected')
})

t.test('nothing after [DONE] counts, though the connection stays open', async t => {
  const startedAt = Date.now()
  const late = { ...streamed(chunk({ content: 'ab' }), stop, DONE, chunk({ content: 'LATE' })), end: 'hang' as const }
  const { answer, text } = await ask(late)
  t.equal(text, 'ab')
  t.equal(answer?.message.content, 'ab')
  t.ok(Date.now() - startedAt < 10_000, 'long before silence would end it')
})

t.test('an empty answer is none, unless the provider ended it with a reason', async t => {
  const empty = await ask(streamed(DONE))
  t.equal(empty.error?.code, 'upstream_invalid_response')
  t.equal(empty.error?.status, 502)
  t.equal(empty.error?.transient, false)
  const ended = await ask(streamed(head, stop, DONE))
  t.equal(ended.answer?.message.content, '')
  t.match(ended.told, [
    { type: 'attempt.start' },
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

t.test('of several choices that were asked for the first is read, the others are kept as they are', async t => {
  const other = { index: 1, message: { role: 'assistant', content: 'two' }, logprobs: null, finish_reason: 'stop' }
  const first = { index: 0, message: { role: 'assistant', content: 'one' }, finish_reason: 'stop' }
  const whole = await ask(body({ choices: [other, first] }), { stream: false, params: { n: 2 } })
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
    ),
    { params: { n: 2 } }
  )
  t.equal(text, 'one')
  t.match(answer?.choice?.others, [{ index: 1, message: { role: 'assistant', content: 'two' }, finish_reason: 'stop' }])
})

t.test('choices that nobody asked for are not read', async t => {
  const other = { index: 1, message: { role: 'assistant', content: 'two' }, error: 'x', finish_reason: 'stop' }
  const first = { index: 0, message: { role: 'assistant', content: 'one' }, finish_reason: 'stop' }
  for (const params of [{}, { n: 1 }]) {
    const whole = await ask(body({ choices: [other, first] }), { stream: false, params })
    t.match(whole.answer, { message: { content: 'one' }, choice: undefined })
  }
  const beyond = await ask(body({ choices: [first, { ...other, index: 2 }] }), { stream: false, params: { n: 2 } })
  t.match(beyond.answer, { message: { content: 'one' }, choice: undefined }, 'nor more than were asked for')
  const delta = event({ choices: [{ index: 1, delta: { content: 'two' }, finish_reason: 'stop' }] })
  const stream = await ask(streamed(chunk({ content: 'one' }), delta, stop, DONE))
  t.match(stream.answer, { message: { content: 'one' }, choice: undefined })
  t.equal((await ask(streamed(delta, DONE))).error?.code, 'upstream_invalid_response', 'and are no answer')
})

t.test('what is nested too deeply to be written again is refused while it is read', async t => {
  const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const completion = (levels: number): string =>
    `{"choices":[{"index":0,"message":{"content":"hi","odd":${nested(levels)}},"finish_reason":"stop"}]}`
  const piece = (levels: number): string => event(`{"choices":[{"index":0,"delta":{"odd":${nested(levels)}}}]}`)
  const refusal = { code: 'upstream_invalid_response', status: 502, message: /nested too deeply/ }
  for (const levels of [520, 6000, 100_000]) {
    const whole = await ask(body(completion(levels)), { stream: false })
    t.match(whole.error, refusal, `${levels} levels in one body`)
    const stream = await ask(streamed(chunk({ content: 'hi' }), piece(levels), stop, DONE))
    t.match(stream.error, refusal, `${levels} levels in a stream`)
    t.match(stream.told.at(-1), { type: 'attempt', outcome: 'upstream_invalid_response' })
  }
  t.equal((await ask(body(completion(500)), { stream: false })).answer?.message.content, 'hi')
  t.equal((await ask(streamed(chunk({ content: 'hi' }), piece(500), stop, DONE))).answer?.message.content, 'hi')
  const text = '['.repeat(6000)
  const said = await ask(body({ choices: [{ message: { content: text }, finish_reason: 'stop' }] }))
  t.equal(said.answer?.message.content, text, 'brackets in a text are text')
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
