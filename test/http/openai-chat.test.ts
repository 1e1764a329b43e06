import OpenAI from 'openai'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { anEdge, framesOf, post } from '../helper/edge.ts'
import { looping } from '../helper/looping.ts'
import { scripted } from '../helper/turn.ts'

const usage = { prompt: 100, completion: 16, total: 116 }

t.test('a call is answered with one JSON body, its figures as headers, the session and ids named', async t => {
  const edge = await anEdge(looping({ text: 'There are 17.' }))
  t.teardown(() => edge.close())
  const response = await post(edge, {}, { 'x-session-id': 's1', 'x-request-id': 'mine-1' })
  const body = (await response.json()) as { id: string; created: number }
  const turnId = String(response.headers.get('x-loopgate-turn-id'))
  t.equal(response.status, 200)
  t.match(body, { model: 'sim', choices: [{ message: { content: 'There are 17.' } }] })
  t.match(turnId, /^turn_[0-9A-Z]{26}$/)
  t.equal(body.id, turnId.replace('turn_', 'chatcmpl-'))
  t.ok(Math.abs(body.created - Date.now() / 1000) < 60)
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
