import t from 'tap'
import type { Answer, AssistantMessage } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { replay } from '../../src/core/replay.ts'
import type { Model } from '../../src/core/turn.ts'
import { RunRecord } from '../../src/http/run-record.ts'
import { anEdge, framesOf, post } from '../helper/edge.ts'
import { looping } from '../helper/looping.ts'
import { scripted, toolbox } from '../helper/turn.ts'

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
  const lines: string[] = []
  const edge = await anEdge(looping({ text: 'ok' }), { logTo: line => void lines.push(line) })
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
  const logged = lines.map(line => JSON.parse(line)).filter(({ event }) => event === 'round.end')
  t.match(logged, [
    { turn_id: /^turn_/, n: 1 },
    { turn_id: /^turn_/, n: 2 }
  ])
  t.notOk(logged.some(line => 'type' in line || 'turn' in line))
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

t.test('the time of a remote advisor is no overhead of the gateway', async t => {
  const record = new RunRecord()
  record.tell({ type: 'advisor', round: 0, name: 'check', phase: 'request', durationMs: 40 })
  t.equal(Math.round(record.waitedMs), 40)
})
