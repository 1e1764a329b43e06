import OpenAI from 'openai'
import t from 'tap'
import type { Answer, AssistantMessage } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { replay } from '../../src/core/replay.ts'
import type { Model, Turn } from '../../src/core/turn.ts'
import { anEdge, framesOf, post } from '../helper/edge.ts'
import { scripted, toolbox } from '../helper/turn.ts'

const usage = { prompt: 100, completion: 16, total: 116 }
const ran = {
  round: 1,
  index: 0,
  callId: 'c1',
  tool: 'stock_level',
  kind: 'webhook',
  attempts: 1,
  durationMs: 5
} as const

/** A model that tells what a loop of two rounds would, then answers or fails. */
function looping(end: { text?: string; error?: unknown }): Model & { seen: Turn[] } {
  const model = scripted([
    { ...end, usage },
    { ...end, usage },
    { ...end, usage }
  ])
  const told: Model = turn => {
    const { tell } = turn
    tell({ type: 'round.start', round: 1, offered: ['stock_level'] })
    tell({ type: 'attempt', round: 1, provider: 'up', model: 'big-1', status: 200, durationMs: 3, outcome: 'ok' })
    tell({ type: 'usage', round: 1, provider: 'up', model: 'big-1', usage, estimated: false })
    tell({ type: 'round.end', round: 1, finish: 'calls', calls: 1 })
    tell({ type: 'tool.start', round: 1, callId: 'c1', tool: 'stock_level' })
    tell({ type: 'tool.end', ...ran, status: 'ok', version: 3, webhookId: 'tc_1' })
    tell({ type: 'search', round: 1, index: 'lexical', form: 'keywords', found: ['stock_level'], durationMs: 1 })
    tell({ type: 'revealed', names: ['stock_level'] })
    tell({ type: 'round.start', round: 2, offered: ['stock_level'] })
    tell({ type: 'attempt', round: 2, provider: 'up', model: 'big-1', status: 200, durationMs: 3, outcome: 'ok' })
    tell({ type: 'usage', round: 2, provider: 'up', model: 'big-1', usage, estimated: true })
    tell({ type: 'round.end', round: 2, finish: 'stop', calls: 0 })
    return model(turn)
  }
  return Object.assign(told, { seen: model.seen })
}

t.test('a call is answered with one JSON body, its figures as headers, the session and ids named', async t => {
  const edge = await anEdge(looping({ text: 'There are 17.' }), {
    tools: toolbox({ stock_level: async () => never() })
  })
  t.teardown(() => edge.close())
  const response = await post(edge, {}, { 'x-session-id': 's1', 'x-request-id': 'mine-1' })
  const body = (await response.json()) as { id: string; created: number }
  const turnId = String(response.headers.get('x-loopgate-turn-id'))
  t.equal(response.status, 200)
  t.match(body, { model: 'sim', choices: [{ message: { content: 'There are 17.' } }] })
  t.match(turnId, /^turn_[0-9A-Z]{26}$/)
  t.equal(body.id, turnId.replace('turn_', 'chatcmpl-'))
  t.ok(Math.abs(body.created - Date.now() / 1000) < 5)
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': 'mine-1',
    'x-session-id': 's1',
    'x-loopgate-model': 'big-1',
    'x-loopgate-provider': 'up',
    'x-loopgate-attempts': '2',
    'x-loopgate-rounds': '2',
    'x-loopgate-tool-calls': '1',
    'x-loopgate-finish': 'stop'
  })
  const other = await post(edge, {}, { 'x-request-id': 'not a valid id!' })
  t.match(other.headers.get('x-request-id'), /^req_[0-9A-Z]{26}$/)
  t.match(other.headers.get('x-session-id'), /^sess_[0-9A-Z]{26}$/)
})

t.test('the run view has rounds, calls, attempts and usage with what was estimated', async t => {
  const edge = await anEdge(looping({ text: 'ok' }), { tools: toolbox({ stock_level: async () => never() }) })
  t.teardown(() => edge.close())
  await post(edge, { loopgate: { tags: ['night'] } }, { 'x-session-id': 's1' })
  t.equal(edge.saved[0]?.how, 'save')
  const tokens = { prompt_tokens: 100, completion_tokens: 16, total_tokens: 116 }
  t.match(edge.views()[0], {
    session_id: 's1',
    key_id: 'key_1',
    dialect: 'openai',
    model: 'sim',
    status: 'completed',
    http_status: 200,
    finish: 'stop',
    usage: { prompt_tokens: 200, completion_tokens: 32, total_tokens: 232, estimated: true },
    revealed: ['stock_level'],
    tags: ['night'],
    rounds: [
      {
        n: 1,
        provider: 'up',
        upstream_model: 'big-1',
        attempts: [{ target: 'up/big-1', status: 200, outcome: 'ok', duration_ms: 3 }],
        finish: 'calls',
        usage: { ...tokens, estimated: false },
        tools_offered: ['stock_level'],
        calls: [
          {
            id: 'c1',
            webhook_id: 'tc_1',
            tool: 'stock_level',
            tool_version: 3,
            kind: 'webhook',
            status: 'ok',
            is_error: false,
            code: null,
            attempts: 1,
            duration_ms: 5
          }
        ]
      },
      { n: 2, usage: { ...tokens, estimated: true }, calls: [] }
    ]
  })
  t.match(edge.ended[0], {
    dialect: 'openai',
    model: 'sim',
    status: 'completed',
    finish: 'stop',
    rounds: 2,
    toolCalls: 1
  })
})

t.test('what must survive a crash is durable before the answer; a plain turn is written behind', async t => {
  const plain = await anEdge(scripted([{ text: 'a' }, { text: 'b' }]))
  t.teardown(() => plain.close())
  await post(plain)
  await post(plain, { session_id: 's1' })
  t.strictSame(
    plain.saved.map(({ how }) => how),
    ['saveLater', 'save']
  )

  const saveFails = new GatewayError('store_unavailable', 'The store is away.')
  const edge = await anEdge(scripted([{ text: 'a' }, { text: 'b' }]), { saveFails })
  t.teardown(() => edge.close())
  const call = await post(edge, { session_id: 's1' })
  t.equal(call.status, 503)
  t.equal(call.headers.get('retry-after'), '1')
  const stream = await (await post(edge, { session_id: 's1', stream: true })).text()
  t.match(framesOf(stream).at(-1), { error: { code: 'store_unavailable' } }, 'no [DONE] for what is not kept')
  t.strictSame(
    edge.ended.map(({ status }) => status),
    ['failed', 'failed'],
    'counted once each'
  )
})

t.test('a stream has the head and frames of W1 to W9', async t => {
  const edge = await anEdge(scripted([{ text: 'There are 17.', usage }]))
  t.teardown(() => edge.close())
  const response = await post(
    edge,
    { stream: true, stream_options: { include_usage: true } },
    { accept: 'application/json', 'accept-encoding': 'gzip' }
  )
  const text = await response.text()
  t.match(Object.fromEntries(response.headers), {
    'content-type': /^text\/event-stream/,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-session-id': /^sess_/,
    'x-request-id': /^req_/,
    'x-loopgate-turn-id': /^turn_/
  })
  t.equal(response.headers.get('content-encoding'), null)
  t.ok(text.endsWith('data: [DONE]\n\n') && !text.includes('\r') && !text.startsWith('\ufeff'))
  const frames = framesOf(text)
  t.equal(frames.length, text.split('\n\n').length - 1, 'nothing but data frames')
  t.strictSame(
    frames.slice(0, -1).map(({ choices, usage }) => [choices[0]?.delta, choices[0]?.finish_reason, usage]),
    [
      [{ role: 'assistant', content: '' }, null, null],
      [{ content: 'There are 17.' }, null, null],
      [{}, 'stop', null],
      [undefined, undefined, { prompt_tokens: 100, completion_tokens: 16, total_tokens: 116 }]
    ]
  )
})

t.test('a failure before the head keeps its status and body, after it becomes a frame (W10, W11)', async t => {
  const error = new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterMs: 2500, provider: 'up' })
  const edge = await anEdge(scripted([{ error }, { error }, { text: 'Half an answer', error, errorAfter: 4 }]))
  t.teardown(() => edge.close())
  for (const stream of [false, true]) {
    const response = await post(edge, { stream })
    t.equal(response.status, 429)
    t.match(Object.fromEntries(response.headers), {
      'retry-after': '3',
      'retry-after-ms': '2500',
      'x-should-retry': 'true',
      'x-session-id': /^sess_/,
      'content-type': 'application/json; charset=utf-8'
    })
    t.strictSame(await response.json(), {
      error: {
        message: 'Slow down.',
        type: 'rate_limit_error',
        param: null,
        code: 'upstream_rate_limited',
        provider: 'up'
      }
    })
  }
  const late = await post(edge, { stream: true })
  const frames = framesOf(await late.text())
  t.equal(late.status, 200)
  t.strictSame(
    frames.map(frame => frame.choices?.[0].delta ?? frame.error.code),
    [{ role: 'assistant', content: '' }, { content: 'Half' }, 'upstream_rate_limited']
  )
  t.strictSame(
    edge.views().map(({ status, http_status, error }) => [status, http_status, error.code]),
    Array(3).fill(['failed', 429, 'upstream_rate_limited'])
  )
})

t.test('an error after a tool ran forbids the retry (W16)', async t => {
  const error = new GatewayError('upstream_overloaded', 'Busy.')
  const edge = await anEdge(looping({ error }))
  t.teardown(() => edge.close())
  for (const stream of [false, true]) {
    const response = await post(edge, { stream })
    t.equal(response.status, 503)
    t.equal(response.headers.get('x-should-retry'), 'false')
  }
})

t.test('what nobody expected is shown as internal, with nothing of the cause', async t => {
  const edge = await anEdge(
    scripted([{ error: new Error('password=1') }, { text: 'abc', error: new Error('x'), errorAfter: 2 }])
  )
  t.teardown(() => edge.close())
  const response = await post(edge)
  t.equal(response.status, 500)
  t.notMatch(await response.text(), /password/)
  t.match(framesOf(await (await post(edge, { stream: true })).text()).at(-1), { error: { code: 'internal' } })
})

t.test('the loopgate object comes when asked for, or when there is something to say', async t => {
  const limited: Partial<Answer> = {
    finish: 'tool_call_limit',
    limit: { kind: 'max_calls_per_tool', tool: 'stock_level', max: 2 },
    partialResults: [{ id: 'c1', name: 'stock_level', content: '1' }]
  }
  const edge = await anEdge(saying('Limit reached.', limited))
  t.teardown(() => edge.close())
  const report = {
    session_id: 's1',
    finish: 'tool_call_limit',
    limit: { kind: 'max_calls_per_tool', tool: 'stock_level', max: 2 },
    rounds: 0,
    tool_calls: 0,
    usage_estimated: false,
    partial_results: [{ id: 'c1', name: 'stock_level', content: '1' }],
    notes: []
  }
  const response = await post(edge, { session_id: 's1' })
  t.match(await response.json(), { choices: [{ finish_reason: 'length' }], loopgate: report })
  t.equal(response.headers.get('x-loopgate-finish'), 'tool_call_limit')
  const frames = framesOf(await (await post(edge, { session_id: 's1', stream: true })).text())
  t.match(frames.at(-2), { choices: [], loopgate: report })
  t.equal(edge.views()[0].status, 'limited')

  const ordinary = await anEdge(looping({ text: 'ok' }))
  t.teardown(() => ordinary.close())
  t.notOk('loopgate' in Object(await (await post(ordinary)).json()))
  const asked = (await (await post(ordinary, { loopgate: { include: ['rounds'] } })).json()) as never
  t.match(asked, { loopgate: { rounds: 2, tool_calls: 1, usage_estimated: true, round_list: [{ n: 1 }, { n: 2 }] } })
  const byHeader = await post(ordinary, {}, { 'x-loopgate-include': 'summary' })
  t.match(await byHeader.json(), { loopgate: { finish: 'stop' } })
})

t.test('include: events tells what happens, on chunks without choices, in order', async t => {
  const edge = await anEdge(looping({ text: 'ok' }))
  t.teardown(() => edge.close())
  const frames = framesOf(await (await post(edge, { stream: true, loopgate: { include: ['events'] } })).text())
  t.strictSame(frames[0].choices[0].delta, { role: 'assistant', content: '' }, 'the role is first of all')
  const told = frames.filter(({ loopgate }) => loopgate?.event)
  t.ok(told.every(({ choices }) => choices.length === 0))
  t.match(
    told.map(({ loopgate }) => loopgate.event),
    [
      { type: 'round.start', n: 1 },
      { type: 'round.end', n: 1, usage: { total_tokens: 116 }, usage_so_far: { total_tokens: 116 } },
      { type: 'tool.start', tool: 'stock_level', call_id: 'c1' },
      { type: 'tool.end', tool: 'stock_level', call_id: 'c1', is_error: false, duration_ms: 5 },
      { type: 'search', found: ['stock_level'] },
      { type: 'round.start', n: 2 },
      { type: 'round.end', n: 2, usage_so_far: { total_tokens: 232 } }
    ]
  )
})

t.test('bad bodies, paths, methods and media types are refused in OpenAI’s shape, with a request id', async t => {
  const edge = await anEdge(scripted([]))
  t.teardown(() => edge.close())
  const url = `${edge.url}/v1/chat/completions`
  const json = { 'content-type': 'application/json' }
  const send = (body: string, headers: Record<string, string> = json) => fetch(url, { method: 'POST', body, headers })
  const cases: readonly [string, Promise<Response>, number, string, string | null][] = [
    ['no JSON type', send('{}', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type', null],
    ['no type', send('{}', { 'content-type': '' }), 415, 'unsupported_media_type', null],
    ['too large', send(JSON.stringify('x'.repeat(70_000))), 413, 'request_too_large', null],
    ['broken', send('{"a'), 400, 'invalid_request', null],
    ['empty', send(''), 400, 'invalid_request', null],
    ['an array', send('[]'), 400, 'invalid_request', null],
    ['no messages', send('{}'), 400, 'invalid_request', 'messages'],
    ['empty messages', post(edge, { messages: [] }), 400, 'invalid_request', 'messages'],
    ['a role', post(edge, { messages: [{ role: 'x', content: '' }] }), 400, 'invalid_request', 'messages[0].role'],
    [
      'a content',
      post(edge, { messages: [{ role: 'user', content: 5 }] }),
      400,
      'invalid_request',
      'messages[0].content'
    ],
    [
      'a part',
      post(edge, { messages: [{ role: 'user', content: [{}] }] }),
      400,
      'invalid_request',
      'messages[0].content[0].type'
    ],
    ['stream', post(edge, { stream: 'yes' }), 400, 'invalid_request', 'stream'],
    [
      'orphan',
      post(edge, { messages: [{ role: 'tool', tool_call_id: 'x', content: '1' }] }),
      400,
      'invalid_request',
      'messages[0].tool_call_id'
    ],
    ['no route', fetch(`${edge.url}/v2`), 404, 'not_found', null],
    ['a method', fetch(url), 405, 'method_not_allowed', null],
    ['a model', post(edge, { model: 'gpt-0' }), 404, 'model_not_found', 'model'],
    ['unknown option', post(edge, { loopgate: { speed: 1 } }), 400, 'invalid_request', 'loopgate.speed']
  ]
  for (const [title, sent, status, code, param] of cases) {
    const response = await sent
    const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } }
    t.match([response.status, error.code, error.param], [status, code, param], title)
    t.match(response.headers.get('x-request-id'), /^req_/, title)
    t.ok(error.message.length > 10, error.message)
  }
  t.equal((await fetch(url)).headers.get('allow'), 'POST')
  t.equal(edge.saved.length, 0, 'no turn began')
})

t.test('models: those the key may use, and no others', async t => {
  const targets = { fast: { provider: 'up', model: 'big-1' }, 'up/big-2': { provider: 'up', model: 'big-2' } }
  const principal = {
    tenant: 'a',
    key: 'k',
    roles: new Set(['chat']),
    models: ['up/*'],
    tools: { allow: [], deny: [] }
  }
  const edge = await anEdge(scripted([{ text: 'a' }]), { targets, principal, config: { default_model: 'up/big-2' } })
  t.teardown(() => edge.close())
  t.match(await (await fetch(`${edge.url}/v1/models`)).json(), {
    object: 'list',
    data: [{ id: 'up/big-2', object: 'model', created: 1, owned_by: 'sim' }]
  })
  t.match(await (await fetch(`${edge.url}/v1/models/up%2Fbig-2`)).json(), { id: 'up/big-2', object: 'model' })
  t.equal((await fetch(`${edge.url}/v1/models/fast`)).status, 404)
  t.match(await (await post(edge, { model: 'fast' })).json(), { error: { code: 'model_not_allowed' } })
  t.match(await (await post(edge, { model: null })).json(), { model: 'up/big-2' }, 'the default model')
})

t.test('the official SDK reads answers, streams, calls and errors', async t => {
  const calls = [
    { id: 'c1', name: 'f', arguments: '{"a":1}' },
    { id: 'c2', name: 'g', arguments: '{"b":2}' }
  ]
  const error = new GatewayError('upstream_disconnected', 'Cut off.')
  const edge = await anEdge(
    scripted([
      { text: 'There are 17.', usage },
      { text: 'There are 17.', usage },
      { text: 'There are 17.', usage },
      { calls, finish: 'client_calls' },
      { text: 'There', error, errorAfter: 2 },
      { error: new GatewayError('upstream_rejected', 'Bad.', { status: 422, shownCode: 'bad' }) }
    ])
  )
  t.teardown(() => edge.close())
  const client = new OpenAI({ baseURL: `${edge.url}/v1`, apiKey: 'any', maxRetries: 0 })
  const ask = { model: 'sim', messages: [{ role: 'user' as const, content: 'How many?' }] }

  const answer = await client.chat.completions.create(ask)
  t.equal(answer.choices[0]?.message.content, 'There are 17.')
  let text = ''
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? ''
  }
  t.equal(text, 'There are 17.')

  const helper = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
  t.equal(await helper.finalContent(), 'There are 17.')
  t.match(await helper.totalUsage(), { total_tokens: 116 })

  const done: string[] = []
  const tools = ['f', 'g'].map(name => ({ type: 'function' as const, function: { name, parameters: {} } }))
  const caller = client.chat.completions.stream({ ...ask, tools })
  caller.on('tool_calls.function.arguments.done', ({ name, arguments: json }) => void done.push(`${name} ${json}`))
  const { choices } = await caller.finalChatCompletion()
  t.equal(choices[0]?.finish_reason, 'tool_calls')
  t.match(
    choices[0]?.message.tool_calls,
    calls.map(({ id, name, arguments: json }) => ({ id, type: 'function', function: { name, arguments: json } }))
  )
  t.strictSame(done, ['f {"a":1}', 'g {"b":2}'])

  await t.rejects(client.chat.completions.stream(ask).finalContent(), {
    message: 'Cut off.',
    code: 'upstream_disconnected'
  })
  await t.rejects(client.chat.completions.create(ask), { status: 422, code: 'bad' })
})

/** A model that says one thing and ends as told. */
function saying(content: string, rest: Partial<Answer>): Model {
  return async turn => {
    const message: AssistantMessage = { role: 'assistant', id: 'a1', content, calls: [] }
    await replay(message, turn.emit)
    return { message, messages: [message], finish: 'stop', offered: turn.prompt.tools, ...rest }
  }
}

function never(): never {
  throw new Error('not called')
}
