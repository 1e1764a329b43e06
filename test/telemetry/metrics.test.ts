import t from 'tap'
import type { TurnEvent } from '../../src/core/events.ts'
import { createMetrics, type EndedTurn } from '../../src/telemetry/metrics.ts'

const attempt: TurnEvent = {
  type: 'attempt',
  round: 1,
  provider: 'up',
  model: 'm-test',
  status: 200,
  durationMs: 200,
  firstByteMs: 40,
  outcome: 'ok'
}

const ended: EndedTurn = {
  dialect: 'openai',
  model: 'm-test',
  status: 'completed',
  finish: 'stop',
  stream: true,
  seconds: 0.3,
  rounds: 2,
  toolCalls: 1,
  overheadSeconds: 0.0004,
  firstOutputSeconds: 0.05
}

/** The lines of one metric, without its comments. */
async function lines(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  const page = await metrics.render()
  return page.split('\n').filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}

t.test('a request, a turn and its events are counted under the labels of the contract', async t => {
  const metrics = createMetrics()
  metrics.modelNames(['m-test'])
  metrics.httpRequest('/v1/chat/completions', 'POST', 200, 0.3)
  metrics.httpRequest('/v1/chat/completions', 'POST', 499, 0.1)
  metrics.turnEvent(attempt)
  metrics.turnEvent({
    type: 'usage',
    round: 1,
    provider: 'up',
    model: 'm-test',
    usage: { prompt: 10, completion: 4, total: 14, cached: 3, cacheWrite: 2, reasoning: 1 },
    estimated: true
  })
  metrics.turnEvent({ type: 'limit', hit: { kind: 'max_calls', max: 150 }, action: 'stop' })
  metrics.turnEvent({ type: 'definitions.saved', tokens: 700 })
  metrics.turnEvent({ type: 'note', note: 'empty_answer' })
  metrics.turnEvent({ type: 'note', note: 'dropped:seed' })
  metrics.turnEnd(ended)

  t.strictSame(await lines(metrics, 'loopgate_http_requests_total'), [
    'loopgate_http_requests_total{route="/v1/chat/completions",method="POST",status="200"} 1',
    'loopgate_http_requests_total{route="/v1/chat/completions",method="POST",status="499"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_turns_total'), [
    'loopgate_turns_total{dialect="openai",model="m-test",status="completed",finish="stop"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_turn_rounds_sum'), [
    'loopgate_turn_rounds_sum{dialect="openai",model="m-test",status="completed",finish="stop"} 2'
  ])
  t.strictSame(await lines(metrics, 'loopgate_upstream_requests_total'), [
    'loopgate_upstream_requests_total{provider="up",model="m-test",outcome="ok"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_tokens_total'), [
    'loopgate_tokens_total{provider="up",model="m-test",kind="prompt"} 10',
    'loopgate_tokens_total{provider="up",model="m-test",kind="completion"} 4',
    'loopgate_tokens_total{provider="up",model="m-test",kind="cached"} 3',
    'loopgate_tokens_total{provider="up",model="m-test",kind="cache_write"} 2',
    'loopgate_tokens_total{provider="up",model="m-test",kind="reasoning"} 1'
  ])
  t.equal((await lines(metrics, 'loopgate_usage_estimated_total')).length, 2)
  t.strictSame(await lines(metrics, 'loopgate_limit_hits_total'), [
    'loopgate_limit_hits_total{kind="max_calls",action="stop"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_tool_definition_tokens_saved_total'), [
    'loopgate_tool_definition_tokens_saved_total 700'
  ])
  t.strictSame(await lines(metrics, 'loopgate_upstream_empty_total'), ['loopgate_upstream_empty_total 1'])
  t.match(metrics.contentType, /^text\/plain/)
})

t.test('what model calls cost adds up by kind, in micro-dollars until it is shown', async t => {
  const metrics = createMetrics()
  metrics.modelNames(['m-test'])
  const usage = { prompt: 10, completion: 4, total: 14, cached: 3, reasoning: 1 }
  const used = { type: 'usage', round: 1, provider: 'up', model: 'm-test', usage, estimated: false } as const
  t.strictSame(await lines(metrics, 'loopgate_cost_usd_total'), [])
  metrics.turnEvent(used)
  for (let i = 0; i < 3; i++) {
    metrics.turnEvent({
      ...used,
      cost: { micros: 300_001, ofKind: { prompt: 100_000, completion: 200_000, cached: 1, cacheWrite: 0 } }
    })
  }
  t.strictSame(await lines(metrics, 'loopgate_cost_usd_total'), [
    'loopgate_cost_usd_total{provider="up",model="m-test",kind="prompt"} 0.3',
    'loopgate_cost_usd_total{provider="up",model="m-test",kind="completion"} 0.6',
    'loopgate_cost_usd_total{provider="up",model="m-test",kind="cached"} 0.000003'
  ])
  metrics.turnEvent({ type: 'price.missing', round: 1, provider: 'up', model: 'm-test' })
  metrics.turnEvent({ type: 'price.missing', round: 1, provider: 'up', model: 'made-up' })
  t.strictSame(await lines(metrics, 'loopgate_price_missing_total'), [
    'loopgate_price_missing_total{model="m-test"} 1',
    'loopgate_price_missing_total{model="unknown"} 1'
  ])
})

t.test('requests under way are counted while they are, under one label', async t => {
  const metrics = createMetrics()
  const start = { type: 'attempt.start', round: 1, provider: 'up', model: 'm-test' } as const
  const inFlight = () => lines(metrics, 'loopgate_in_flight')
  metrics.turnEvent(start)
  metrics.turnEvent(start)
  t.strictSame(await inFlight(), ['loopgate_in_flight{provider="up",model="unknown"} 2'])
  metrics.turnEvent(attempt)
  t.strictSame(await inFlight(), ['loopgate_in_flight{provider="up",model="unknown"} 1'])
  metrics.turnEvent({ ...attempt, outcome: 'cancelled' })
  metrics.turnEvent(start)
  t.strictSame(await inFlight(), [
    'loopgate_in_flight{provider="up",model="unknown"} 0',
    'loopgate_in_flight{provider="up",model="m-test"} 1'
  ])
})

t.test('buckets add up from below and end with all observations', async t => {
  const metrics = createMetrics()
  for (const seconds of [0.004, 0.005, 0.2, 1000]) metrics.httpRequest('/healthz', 'GET', 200, seconds)
  const buckets = await lines(metrics, 'loopgate_http_request_duration_seconds_bucket')
  const counts = new Map(buckets.map(line => [/le="([^"]+)"/.exec(line)?.[1], Number(line.split(' ').at(-1))]))
  t.equal(counts.get('0.005'), 2, 'an upper bound belongs to its bucket')
  t.equal(counts.get('0.1'), 2)
  t.equal(counts.get('0.25'), 3)
  t.equal(counts.get('600'), 3)
  t.equal(counts.get('+Inf'), 4)
  t.strictSame(await lines(metrics, 'loopgate_http_request_duration_seconds_count'), [
    'loopgate_http_request_duration_seconds_count{route="/healthz",method="GET",status="200"} 4'
  ])
})

t.test('a model is `unknown` until it is configured or an upstream has answered to it', async t => {
  const metrics = createMetrics()
  metrics.turnEvent({ ...attempt, model: 'gpt-invented', outcome: 'upstream_rejected' })
  metrics.turnEvent({ ...attempt, model: 'gpt-real' })
  metrics.turnEvent({ type: 'retry', round: 1, code: 'upstream_error', delayMs: 1, provider: 'up', model: 'gpt-real' })
  metrics.turnEvent({ type: 'retry', round: 1, code: 'upstream_error', delayMs: 1 })
  metrics.turnEnd({ ...ended, model: 'gpt-invented', status: 'failed', finish: undefined })
  t.strictSame(await lines(metrics, 'loopgate_upstream_requests_total'), [
    'loopgate_upstream_requests_total{provider="up",model="unknown",outcome="upstream_rejected"} 1',
    'loopgate_upstream_requests_total{provider="up",model="gpt-real",outcome="ok"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_retries_total'), [
    'loopgate_retries_total{provider="up",model="gpt-real",outcome="upstream_error"} 1',
    'loopgate_retries_total{provider="unknown",model="unknown",outcome="upstream_error"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_turns_total'), [
    'loopgate_turns_total{dialect="openai",model="unknown",status="failed",finish=""} 1'
  ])

  for (let i = 0; i < 500; i++) metrics.turnEvent({ ...attempt, model: `gpt-${i}` })
  const models = await lines(metrics, 'loopgate_upstream_requests_total')
  t.ok(models.length <= 202, 'names that clients make up do not make series without end')
})

t.test('a tool call is labelled by its tool and code; a name the model made up is not a label', async t => {
  const metrics = createMetrics()
  const call: TurnEvent = {
    type: 'tool.end',
    round: 1,
    index: 0,
    callId: 'call_1',
    tool: 'stock_level',
    kind: 'webhook',
    status: 'ok',
    attempts: 1,
    durationMs: 40
  }
  const { kind: _, ...unmatched } = call
  metrics.turnEvent(call)
  metrics.turnEvent({ ...call, status: 'error', code: 'tool_timeout' })
  metrics.turnEvent({ ...unmatched, tool: 'made_up', status: 'refused', code: 'tool_not_found' })
  t.strictSame(await lines(metrics, 'loopgate_tool_calls_total'), [
    'loopgate_tool_calls_total{tool="stock_level",kind="webhook",code="ok"} 1',
    'loopgate_tool_calls_total{tool="stock_level",kind="webhook",code="tool_timeout"} 1',
    'loopgate_tool_calls_total{tool="unknown",kind="unknown",code="tool_not_found"} 1'
  ])
})

t.test('searches and what their indexes hold', async t => {
  const metrics = createMetrics()
  const search: TurnEvent = { type: 'search', round: 1, index: 'lexical', form: 'keywords', found: [], durationMs: 0.4 }
  metrics.turnEvent(search)
  metrics.turnEvent({ ...search, found: ['stock_level'] })
  metrics.indexBuilt()
  metrics.indexes(2)
  metrics.indexes(1)
  metrics.views(7)
  metrics.viewEvicted('ttl')
  t.strictSame(await lines(metrics, 'loopgate_tool_searches_total'), [
    'loopgate_tool_searches_total{index="lexical",form="keywords"} 2'
  ])
  t.strictSame(await lines(metrics, 'loopgate_tool_search_empty_total'), [
    'loopgate_tool_search_empty_total{index="lexical",form="keywords"} 1'
  ])
  t.strictSame(await lines(metrics, 'loopgate_tool_index_builds_total'), ['loopgate_tool_index_builds_total 1'])
  t.strictSame(await lines(metrics, 'loopgate_tool_indexes'), ['loopgate_tool_indexes 1'])
  t.strictSame(await lines(metrics, 'loopgate_tool_views'), ['loopgate_tool_views 7'])
  t.strictSame(await lines(metrics, 'loopgate_tool_view_evictions_total'), [
    'loopgate_tool_view_evictions_total{reason="ttl"} 1'
  ])
})

t.test('single numbers: buffered bytes keep their peak, refusals and store errors add up', async t => {
  const metrics = createMetrics()
  t.strictSame(await lines(metrics, 'loopgate_stream_buffered_bytes_peak'), ['loopgate_stream_buffered_bytes_peak 0'])
  metrics.streamBuffered(500)
  metrics.streamBuffered(100)
  metrics.egressBlocked()
  metrics.storeError('append')
  t.strictSame(await lines(metrics, 'loopgate_stream_buffered_bytes_peak'), ['loopgate_stream_buffered_bytes_peak 500'])
  t.strictSame(await lines(metrics, 'loopgate_egress_blocked_total'), ['loopgate_egress_blocked_total 1'])
  t.strictSame(await lines(metrics, 'loopgate_store_errors_total'), ['loopgate_store_errors_total{op="append"} 1'])
})

t.test('two gateways in one process do not share counts', async t => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.egressBlocked()
  t.strictSame(await lines(other, 'loopgate_egress_blocked_total'), ['loopgate_egress_blocked_total 0'])
})
