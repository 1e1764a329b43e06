import t from 'tap'
import type { WireCase } from '../src/cases/wire/case.ts'
import { wireConfig } from '../src/cases/wire/config.ts'
import { judgeWire } from '../src/cases/wire/judge.ts'
import type { WireObservation } from '../src/cases/wire/observation.ts'
import { choice, chunk, done, failure, head, observed, piece, role } from './helper/client-bytes.ts'

const json = { status: 502, headers: { 'content-type': 'application/json', 'x-request-id': 'r' } }

const base: WireCase = {
  id: '1',
  provider: 'openai',
  clientRequest: { method: 'POST', path: '/v1/chat/completions', body: {} },
  expect: {}
}
const judged = (expect: object, observation: WireObservation) =>
  judgeWire({ ...base, expect: { ...expect } }, observation)

t.test('every field of an expectation passes what it says and fails anything else', async t => {
  const call = { tool: 'f', arguments: { a: 1 }, round: 1, index: 0, atMs: 1, abortedMs: 30 }
  const seen: WireObservation = {
    ...observed(
      `: ka\n\n${role}${choice({ content: 'ab', reasoning_content: 'hm', refusal: 'no' }, null, { logprobs: { content: [{ token: 'ab' }] } })}${head(0)}${piece(0, '{"x":1}')}${choice({}, 'tool_calls')}${chunk({ choices: [], usage: { total_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } } })}${done}`
    ),
    upstream: [{ path: '/v1/chat/completions', headers: {}, body: { n: 1 }, atMs: 1, abortedMs: 60 }],
    webhooks: [call],
    run: { usage: { total_tokens: 4, estimated: false }, http_status: 499 },
    settledMs: 70,
    bufferedBytesPeak: 100
  }
  const pairs: [object, object][] = [
    [{ clientStatus: 200 }, { clientStatus: 201 }],
    [{ clientHeaders: { 'x-request-id': 'req_1' } }, { clientHeaders: { 'x-request-id': 'req_2' } }],
    [{ contentType: 'text/event-stream' }, { contentType: 'application/json' }],
    [{ text: 'ab' }, { text: 'a' }],
    [{ textParts: ['a', 'b'] }, { textParts: ['a'] }],
    [{ textExcludes: 'c' }, { textExcludes: 'b' }],
    [{ clientExcludes: 'zzz' }, { clientExcludes: 'DONE' }],
    [{ reasoningText: 'hm' }, { reasoningText: '' }],
    [{ refusalText: 'no' }, { refusalText: '' }],
    [{ logprobsTokens: ['ab'] }, { logprobsTokens: [] }],
    [{ finishReason: 'tool_calls' }, { finishReason: 'stop' }],
    [{ toolCallsExecuted: [{ name: 'f', arguments: { a: 1 } }] }, { toolCallsExecuted: [] }],
    [
      { toolCallsToClient: [{ name: 'f', arguments: { x: 1 } }] },
      { toolCallsToClient: [{ name: 'f', arguments: {} }] }
    ],
    [{ upstreamRequests: 1 }, { upstreamRequests: 2 }],
    [
      { upstreamRequest: [{ turn: 1, path: 'n', equals: 1 }] },
      { upstreamRequest: [{ turn: 2, path: 'n', equals: 1 }] }
    ],
    [{ usage: { 'prompt_tokens_details.cached_tokens': 3 } }, { usage: { total_tokens: 5 } }],
    [{ usageMin: { total_tokens: 4 } }, { usageMin: { total_tokens: 5 } }],
    [{ auditUsage: { total_tokens: 4 } }, { auditUsage: 'estimated-or-unknown' }],
    [{ auditStatus: 499 }, { auditStatus: 200 }],
    [{ clientSeesUsageChunk: true }, { clientSeesUsageChunk: false }],
    [{ sendsDone: true }, { sendsDone: false }],
    [{ wireRules: ['W9'] }, { wireRules: ['W8'] }],
    [{ upstreamAborted: true }, { upstreamAborted: false }],
    [{ upstreamAbortedWithinMs: 40 }, { upstreamAbortedWithinMs: 39 }],
    [{ webhookAborted: true }, { webhookAborted: false }],
    [{ handlerSettlesWithinMs: 50 }, { handlerSettlesWithinMs: 49 }],
    [{ maxBufferedBytes: 100 }, { maxBufferedBytes: 99 }],
    [{ firstByteWithinMs: 5 }, { firstByteWithinMs: 4 }],
    [{ maxWallMs: 20 }, { maxWallMs: 19 }],
    [{ processAlive: true }, { processAlive: false }],
    [{ keepaliveComments: { min: 1, max: 1 } }, { keepaliveComments: { min: 2 } }],
    [{ statement: 'prose' }, { error: {} }]
  ]
  for (const [right, wrong] of pairs) {
    t.strictSame(judged(right, seen), [], JSON.stringify(right))
    t.equal(judged(wrong, seen).length, 1, JSON.stringify(wrong))
  }
  t.match(judged({ fresh: 1 }, seen), ['fresh: the runner does not know this field'])
  t.match(judged({}, observed('', { broken: 'aborted' })), ['the answer broke off: aborted'])
  t.match(judged({ maxBufferedBytes: 9 }, observed('')), [/held nothing/])
})

t.test('an error is held against its fields, in a stream and before it', async t => {
  const inStream = observed(role + failure)
  t.strictSame(
    judged(
      {
        error: {
          inStream: true,
          messageIncludes: 'oo',
          messageExcludes: 'x',
          typeOneOf: ['upstream_error'],
          codeOneOf: ['upstream_error'],
          param: null,
          shape: 'openai'
        }
      },
      inStream
    ),
    []
  )
  for (const wrong of [
    { inStream: false },
    { messageIncludes: 'x' },
    { messageExcludes: 'boom' },
    { typeOneOf: ['other'] },
    { codeOneOf: [] },
    { param: 'n' },
    { shape: 'anthropic' },
    { other: 1 }
  ]) {
    t.equal(judged({ error: wrong }, inStream).length, 1, JSON.stringify(wrong))
  }
  t.strictSame(judged({ error: { inStream: false } }, observed(failure.slice(6), json)), [])
})

t.test('checks of an upstream request reach into its body', async t => {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: ' ' }] },
    { role: 'tool', tool_call_id: 'b', content: '{"x":1}' }
  ]
  const upstream = [
    { tools: [1], messages: messages.slice(0, 1) },
    { tools: [1, 2], messages, system: [{ text: 'S' }, { text: 'D' }] }
  ]
  const seen = { ...observed(''), upstream: upstream.map(body => ({ path: '/', headers: {}, body, atMs: 0 })) }
  const check = (one: object) => judged({ upstreamRequest: [{ turn: 2, ...one }] }, seen).length
  const right = [
    { path: 'messages[-1].tool_call_id', equals: 'b' },
    { path: 'messages[*].tool_call_id', equals: ['a', 'b'], distinct: 2 },
    { path: 'messages', length: 3, type: 'array' },
    { path: 'model', absent: true, equalsOrAbsent: 'x' },
    { path: 'tools', absent: false, startsWithPath: 'tools' },
    { path: 'system', textEquals: 'S\n\nD' },
    { path: 'messages[0].role', matches: '^us', equalsPath: 'messages[0].role' },
    { path: 'messages[2].content', validJson: true, maxBytes: 7, excludes: 'y' },
    { path: 'messages[2]', noEmptyText: true },
    { path: 'tools', startsWithPath: { turn: 1, path: 'tools' } }
  ]
  // A place that is compared with itself means the request before.
  for (const one of right) t.equal(check(one), 0, JSON.stringify(one))
  const wrong = [
    { path: 'messages[9]', equals: 'b' },
    { path: 'messages[*].tool_call_id', equals: ['b', 'a'] },
    { path: 'messages[*].tool_call_id', distinct: 1 },
    { path: 'messages', length: 2 },
    { path: 'messages', type: 'object' },
    { path: 'tools', absent: true },
    { path: 'tools', equalsOrAbsent: 'x' },
    { path: 'system', textEquals: 'SD!' },
    { path: 'messages[0].role', matches: 'x' },
    { path: 'messages[0].role', equalsPath: 'messages[1].role' },
    { path: 'messages[0].content', validJson: true },
    { path: 'messages[2].content', maxBytes: 6 },
    { path: 'messages[2].content', excludes: 'x' },
    { path: 'messages[1]', noEmptyText: true },
    { turn: 1, path: 'tools', startsWithPath: { turn: 2, path: 'tools' } },
    { path: 'tools', unheard: 1 }
  ]
  for (const one of wrong) t.equal(check(one), 1, JSON.stringify(one))
})

t.test('the settings of a case become those of the file, and an unknown one is no case to be driven', async t => {
  const one: WireCase = {
    ...base,
    gatewayConfig: {
      retries: 2,
      upstreamIdleMs: 5,
      keepaliveMs: 6,
      commitHeadAfterMs: 7,
      maxTurns: 8,
      toolResultMaxBytes: 9,
      provider: { emptyAssistantContent: 'empty-string', replayReasoning: 'never' }
    },
    gatewayTools: [{ name: 'f', parameters: { type: 'object' }, result: { status: 200 } }]
  }
  t.match(wireConfig(one, 'http://up', 'http://hook'), {
    providers: [{ base_url: 'http://up/v1', empty_assistant_content: 'empty_string', replay_reasoning: 'never' }],
    retry: { max_retries: 2 },
    timeouts: { idle_ms: 5, first_byte_ms: 5 },
    stream: { keepalive_ms: 6, commit_ms: 7 },
    limits: { max_rounds: 8 },
    tool_defaults: { result: { max_model_bytes: 9 } },
    tools: [{ endpoint: { url: 'http://hook/tools/f', egress_policy: 'internal' } }]
  })
  t.throws(() => wireConfig({ ...base, gatewayConfig: { other: 1 } }, '', ''), /gatewayConfig\.other/)
  const anthropic: WireCase = { ...base, provider: 'anthropic' }
  t.match(wireConfig(anthropic, 'http://up', ''), { providers: [{ kind: 'anthropic', base_url: 'http://up' }] })
})
