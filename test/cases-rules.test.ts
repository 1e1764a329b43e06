import t from 'tap'
import { answerOf } from '../src/cases/wire/answer.ts'
import type { WireObservation } from '../src/cases/wire/observation.ts'
import { brokenRule } from '../src/cases/wire/rules.ts'
import {
  choice,
  chunk,
  done,
  failure,
  good,
  HEADERS,
  head,
  observed,
  piece,
  role,
  stop
} from './helper/client-bytes.ts'

const called = { tool: 'get_time', arguments: {}, round: 1, index: 0, atMs: 1 }
const json = { status: 502, headers: { 'content-type': 'application/json', 'x-request-id': 'r' } }

function broken(rule: string, observation: WireObservation, request: object = {}, path = '/v1/chat/completions') {
  const answer = answerOf(observation.client, path)
  const evidence = { request: { ...request }, path, answer, observation, gatewayTools: ['get_time'] }
  return brokenRule(rule, { ...evidence, retryAfter: '7' })
}

t.test('a rule of streams holds for right bytes and is broken by wrong ones', async t => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const asked = { stream_options: { include_usage: true } }
  const withUsage = good
    .replaceAll('"finish_reason":"stop"}]', '"finish_reason":"stop"}]')
    .replaceAll(/(\}\])\}/g, '$1,"usage":null}')
  const usageChunk = chunk({ choices: [], usage })
  const own = { tools: [{ type: 'function', function: { name: 'get_time' } }] }
  const inner = choice({
    tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'get_time', arguments: '{}' } }]
  })
  const right: [string, string, object?][] = [
    ['W1', good],
    ['W2', `: ka\n\n${good}`],
    ['W3', `: ka\n\n${good}`],
    ['W4', good],
    ['W5', good],
    ['W6', role + head(0) + piece(0, '{}') + head(1) + piece(1, '{') + piece(1, '}') + stop + done],
    ['W7', good],
    ['W8', good],
    ['W8', withUsage.replace(done, usageChunk + done), asked],
    ['W9', good],
    ['W10', role + failure],
    ['W12', good],
    ['W12', role + inner + stop + done, own],
    ['W13', good],
    ['W16', good]
  ]
  for (const [rule, text, request] of right)
    t.equal(broken(rule, observed(text), request), undefined, `${rule} is kept`)

  const wrong: [string, string, object?][] = [
    ['W1', `\ufeff${good}`],
    ['W1', good.replaceAll('\n', '\r\n')],
    ['W2', `event: ping\n\n${good}`],
    ['W2', `data:\n\n${good}`],
    ['W2', good.trimEnd()],
    ['W3', `: heartbeat\n\n${good}`],
    ['W3', good.replace('data:', ': ka\ndata:')],
    ['W4', good.replace('"id":"c1"', '"id":"c2"')],
    ['W4', role + chunk({ usage }) + stop + done],
    ['W4', role + choice({ content: 'a' }).replace('"choices"', '"loopgate":{},"choices"') + stop + done],
    ['W5', choice({ content: 'a' }) + stop + done],
    ['W5', role + role + stop + done],
    ['W6', role + head(1) + stop + done],
    ['W6', role + head(0) + head(1) + piece(0, '{}') + stop + done],
    ['W6', role + head(0) + head(0) + stop + done],
    ['W6', role + head(0).replace('"type":"function",', '') + stop + done],
    ['W7', role + done],
    ['W7', role + stop + stop + done],
    ['W7', role + choice({}, 'end_turn') + done],
    ['W7', role.replace(',"finish_reason":null', '') + stop + done],
    ['W8', role + usageChunk + stop + done],
    ['W8', role + stop + usageChunk + done, asked],
    ['W8', withUsage.replace('[],', '[],').replace(stop, '').replace(done, '') + usageChunk + stop, asked],
    ['W9', good + done],
    ['W9', good.replace('[DONE]', '[DONE] ')],
    ['W9', role + stop],
    ['W10', role + failure + done],
    ['W10', role + stop + failure],
    ['W10', role + failure + choice({ content: 'b' })],
    ['W10', role + failure.replace(',"param":null', '')],
    ['W11', good],
    ['W12', role + inner + stop + done],
    ['W12', role + stop + choice({ content: 'late' }) + done],
    ['W12', role + choice({}) + stop + done],
    ['W13', role.replace('"index":0', '"index":1') + done],
    ['W99', good]
  ]
  for (const [rule, text, request] of wrong)
    t.match(broken(rule, observed(text), request), `${rule}: `, `${rule} is broken`)

  t.match(broken('W1', observed(good, { isUtf8: false })), 'UTF-8')
  t.match(broken('W1', observed(good, { headers: { ...HEADERS, 'content-encoding': 'gzip' } })), 'compressed')
  t.match(broken('W16', observed(good, { headers: {} })), 'x-request-id')
})

t.test('a failure before the head has a status, a body of its surface and says whether to try again', async t => {
  const body = failure.slice('data: '.length).trim()
  const kept = { ...json, headers: { ...json.headers, 'retry-after': '7' } }
  t.equal(broken('W11', observed(body, json)), undefined)
  t.match(broken('W11', observed('<html>', json)), 'W11')
  t.match(broken('W16', observed(body, json)), 'retry-after')
  t.equal(broken('W16', observed(body, kept)), undefined)
  t.match(broken('W16', { ...observed(body, kept), webhooks: [called] }), 'again')
})

t.test('a stream of messages is one message over all rounds', async t => {
  const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const block = (index: number, type = 'text') =>
    event('content_block_start', { index, content_block: { type } }) +
    event('content_block_delta', { index, delta: { type: 'text_delta', text: 'a' } }) +
    event('content_block_stop', { index })
  const begin = event('message_start', { message: {} })
  const end = event('message_delta', { delta: { stop_reason: 'end_turn' } }) + event('message_stop')
  const held = (text: string, rule = 'W14') => broken(rule, observed(text), {}, '/v1/messages')
  t.equal(held(begin + block(0) + block(1) + end), undefined)
  t.match(held(begin + block(0) + begin + block(1) + end), 'message_start')
  t.match(held(begin + block(1) + end), 'gap')
  t.match(held(begin + block(0)), 'message_stop')
  t.match(held((begin + block(0) + end).replace('event: message_start\n', '')), 'name')
  t.match(
    held(begin + event('content_block_start', { index: 0 }) + event('content_block_start', { index: 1 }) + end),
    'overlap'
  )
  const signed = event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 's' } })
  t.equal(held(begin + block(0) + signed + end, 'W15'), undefined)
  t.match(held(begin + signed + signed + end, 'W15'), 'signature')
})
