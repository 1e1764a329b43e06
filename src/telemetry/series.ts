import type { Registry } from 'prom-client'
import { countFamily, histogramFamily } from './family.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const SHORT_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const ROUNDS = [1, 2, 3, 4, 5, 8, 12, 20, 40, 80, 200]
const CALLS = [0, 1, 2, 3, 5, 8, 13, 20, 40, 80, 150]

const http = ['route', 'method', 'status']
const turn = ['dialect', 'model', 'status', 'finish']
const edge = ['dialect', 'stream']
const upstream = ['provider', 'model', 'outcome']
const tokens = ['provider', 'model', 'kind']
const tool = ['tool', 'kind', 'code']
const search = ['index', 'form']

export type Series = ReturnType<typeof series>

/** Every metric with its name, type and labels (contract §13), registered in `registry`. Seconds, bytes, tokens. */
export function series(registry: Registry) {
  const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
    countFamily(registry, 'counter', { name, help, labelNames })
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    countFamily(registry, 'gauge', { name, help, labelNames })
  const histogram = (name: string, help: string, labelNames: readonly string[], buckets: readonly number[]) =>
    histogramFamily(registry, { name, help, labelNames }, buckets)

  return {
    httpRequests: counter('loopgate_http_requests_total', 'HTTP requests answered; status 499: the client left.', http),
    httpSeconds: histogram('loopgate_http_request_duration_seconds', 'From request to last byte.', http, SECONDS),

    turns: counter('loopgate_turns_total', 'Turns ended.', turn),
    turnSeconds: histogram('loopgate_turn_duration_seconds', 'From question to answer.', turn, SECONDS),
    turnRounds: histogram('loopgate_turn_rounds', 'Model calls of a turn.', turn, ROUNDS),
    turnToolCalls: histogram('loopgate_turn_tool_calls', 'Tool calls that ran in a turn.', turn, CALLS),
    overhead: histogram('loopgate_overhead_seconds', 'Turn minus upstream and tool waits.', edge, SHORT_SECONDS),
    firstOutput: histogram('loopgate_time_to_first_output_seconds', 'Question to first visible output.', edge, SECONDS),

    upstreamRequests: counter('loopgate_upstream_requests_total', 'Requests to model providers.', upstream),
    upstreamSeconds: histogram('loopgate_upstream_duration_seconds', 'A provider request, whole.', upstream, SECONDS),
    upstreamFirstByte: histogram('loopgate_upstream_first_byte_seconds', 'Sent to first byte.', upstream, SECONDS),
    inFlight: gauge('loopgate_in_flight', 'Provider requests under way.', ['provider', 'model']),
    upstreamEmpty: counter('loopgate_upstream_empty_total', 'Finished answers with neither text nor calls.'),
    retries: counter('loopgate_retries_total', 'Provider requests sent again; outcome: of the one before.', upstream),

    tokens: counter('loopgate_tokens_total', 'Tokens; cached and reasoning ones are parts of the others.', tokens),
    // Counted in whole micro-dollars: sums of fractions would drift.
    costMicros: countFamily(registry, 'counter', {
      name: 'loopgate_cost_usd_total',
      help: 'What model calls cost in USD, by the configured prices.',
      labelNames: tokens,
      perUnit: 1_000_000
    }),
    priceMissing: counter('loopgate_price_missing_total', 'Model calls without a price, while others have one.', [
      'model'
    ]),
    usageEstimated: counter('loopgate_usage_estimated_total', 'Model calls whose usage was estimated.', tokens),

    toolCalls: counter('loopgate_tool_calls_total', 'Tool calls; code ok or why not.', tool),
    toolSeconds: histogram('loopgate_tool_duration_seconds', 'A tool call with its retries.', tool, SECONDS),
    callsUnknown: counter('loopgate_tool_calls_unknown_total', 'Calls sent whose outcome nobody knows.'),
    limitHits: counter('loopgate_limit_hits_total', 'Limits that were reached.', ['kind', 'action']),

    searches: counter('loopgate_tool_searches_total', 'Tool searches, by models and by POST /v1/tools/search.', search),
    searchesEmpty: counter('loopgate_tool_search_empty_total', 'Tool searches that found nothing.', search),
    searchSeconds: histogram('loopgate_tool_search_seconds', 'A tool search.', search, SHORT_SECONDS),
    indexBuilds: counter('loopgate_tool_index_builds_total', 'Search indexes built.'),
    indexes: gauge('loopgate_tool_indexes', 'Search indexes held, one a distinct tool set.'),
    views: gauge('loopgate_tool_views', 'Sessions that hold a search index.'),
    viewEvictions: counter('loopgate_tool_view_evictions_total', 'Sessions that lost their hold.', ['reason']),
    tokensSaved: counter('loopgate_tool_definition_tokens_saved_total', 'Tokens of definitions kept out of prompts.'),

    bufferedPeak: gauge('loopgate_stream_buffered_bytes_peak', 'Most bytes held for one slow client since start.'),
    egressBlocked: counter('loopgate_egress_blocked_total', 'Connections to tools refused by the egress guard.'),
    storeErrors: counter('loopgate_store_errors_total', 'Failed store operations.', ['op']),
    compactions: counter('loopgate_compactions_total', 'Summaries of sessions; superseded: not needed any more.', [
      'status'
    ])
  }
}
