import t from 'tap'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import type { Tool } from '../../src/core/chat.ts'
import { policyOf } from '../../src/http/policy.ts'
import { NO_OPTIONS, type TurnOptions } from '../../src/http/turn-options.ts'
import { asked } from '../helper/asked.ts'

function policy(config: ConfigInput, options: Partial<TurnOptions>, some: ReadonlyMap<string, Tool> = new Map()) {
  return policyOf(configSchema.parse(config), { ...NO_OPTIONS, ...options }, { isNamed: true, tools: some })
}

t.test('limits of a request hold where they are tighter', async t => {
  const config = { limits: { max_calls: 10, max_rounds: -1, max_calls_per_tool: 5, per_tool: { a: 3, b: -1 } } }
  t.match(policy(config, {}).limits, { maxCalls: 10, maxRounds: -1, maxCallsPerTool: 5, maxTurnMs: 600_000 })
  const loose = policy(config, {
    limits: { max_calls: 99, max_rounds: -1, max_calls_per_tool: -1, per_tool: { a: 9 } }
  })
  t.match(loose.limits, { maxCalls: 10, maxRounds: -1, maxCallsPerTool: 5, perTool: { a: 3, b: -1 } })
  const tight = policy(config, {
    limits: {
      max_calls: 2,
      max_rounds: 4,
      max_tokens: 100,
      max_calls_per_tool: 2,
      per_tool: { c: 1 },
      limit_check: 'batch'
    },
    timeoutMs: 1000
  })
  t.match(tight.limits, {
    maxCalls: 2,
    maxRounds: 4,
    maxTokens: 100,
    maxTurnMs: 1000,
    maxCallsPerTool: 2,
    perTool: { a: 2, b: 2, c: 1 },
    limitCheck: 'batch'
  })
  const own = new Map([['d', { name: 'd', kind: 'builtin', maxCallsPerTurn: 50 } as const]])
  t.equal(policy(config, { limits: { max_calls_per_tool: 2 } }, own).limits.perTool.d, 2, 'a tool’s own limit too')
  const exempt = { limits: { exempt_tools: ['a', 'x_*'] } }
  t.strictSame(policy(exempt, { limits: { exempt_tools: ['a', 'z'] } }).limits.exemptTools, ['a'])
  t.strictSame(policy(exempt, { limits: { per_tool: { x_1: 1 } } }).limits.exemptTools, ['a'])
})

t.test('a limit of cost is tightened likewise, and is whole micro-dollars inside', async t => {
  const max = (configured: number | null, asked?: number) =>
    policy({ limits: { max_cost_usd: configured } }, asked === undefined ? {} : { limits: { max_cost_usd: asked } })
      .limits.maxCostMicros
  t.equal(max(null), undefined)
  t.equal(max(-1), undefined)
  t.equal(max(0.07), 70_000)
  t.equal(max(0.07, 0.000001), 1)
  t.equal(max(0.07, 5), 70_000)
  t.equal(max(0.07, -1), 70_000)
  t.equal(max(null, 1.1), 1_100_000)
})

t.test('what a limit does and when it is checked is free to a request, whatever is configured', async t => {
  t.match(policy({}, {}).limits, { onLimit: 'stop', limitCheck: 'call' })
  for (const on_limit of ['stop', 'tell_model', 'force_answer'] as const) {
    t.equal(policy({ limits: { on_limit } }, {}).limits.onLimit, on_limit)
    t.equal(policy({ limits: { on_limit: 'tell_model' } }, { limits: { on_limit } }).limits.onLimit, on_limit)
  }
  t.equal(policy({ limits: { limit_check: 'batch' } }, { limits: { limit_check: 'call' } }).limits.limitCheck, 'call')
})

t.test('a limit for a tool named like what every object inherits is kept', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    const { perTool } = policy({}, { limits: { per_tool: { [name]: 2 } } }).limits
    t.equal(Object.entries(perTool).find(([each]) => each === name)?.[1], 2, name)
  }
  const own = new Map(
    ['constructor', '__proto__'].map(name => [name, { name, kind: 'builtin', maxCallsPerTurn: 50 } as const])
  )
  const { perTool } = policy({}, { limits: { max_calls_per_tool: 3 } }, own).limits
  t.strictSame(Object.entries(perTool), [
    ['constructor', 3],
    ['__proto__', 3]
  ])
  t.match(await asked({ loopgate: { limits: { per_tool: { constructor: 2 } } } }), {
    turn: { policy: { limits: { perTool: { constructor: 2 } } } }
  })
})

t.test('search results of a request stay under what is configured', async t => {
  const results = (tool_search: object, maxResults: number) =>
    policy({ tool_search }, { toolSearch: { maxResults } }).toolSearch
  t.match(results({}, 50), { maxResults: 10, maxResultsLimit: undefined })
  t.match(results({ max_results: 3 }, 5), { maxResults: 3 })
  t.match(results({ max_results: 3, max_results_limit: 8 }, 5), { maxResults: 5, maxResultsLimit: undefined })
  t.match(policy({ tool_search: { max_results: 3, max_results_limit: 8 } }, {}).toolSearch, {
    maxResults: 3,
    maxResultsLimit: 8
  })
})

t.test('a request can have fewer retries of structured output, not more, and says what comes after them', async t => {
  t.strictSame(policy({}, {}).structuredOutput, { maxRetries: 3, onExhausted: 'return' })
  const config = { structured_output: { max_retries: 2, on_exhausted: 'fail' } } as const
  t.strictSame(policy(config, {}).structuredOutput, { maxRetries: 2, onExhausted: 'fail' })
  const asks = (structuredOutput: TurnOptions['structuredOutput']) => policy(config, { structuredOutput })
  t.equal(asks({ maxRetries: 1 }).structuredOutput.maxRetries, 1)
  t.strictSame(asks({ maxRetries: 9, onExhausted: 'return' }).structuredOutput, {
    maxRetries: 2,
    onExhausted: 'return'
  })
  const loopgate = { structured_output: { max_retries: 0, on_exhausted: 'fail' } }
  t.match((await asked({ loopgate })).turn?.policy, { structuredOutput: { maxRetries: 0, onExhausted: 'fail' } })
})

t.test('what is not there yet is refused by name; the body wins over headers', async t => {
  const later: readonly [object, string][] = [
    [{ approvals: 'deny' }, 'loopgate.approvals'],
    [{ cache: 'on' }, 'loopgate.cache'],
    [{ tool_search: 'preselect' }, 'loopgate.tool_search']
  ]
  for (const [loopgate, param] of later) {
    t.match(await asked({ loopgate }), { status: 400, error: { code: 'unsupported_parameter', param } })
  }
  const ordinary = { tool_execution: 'auto', approvals: 'auto', cache: 'off', resumable: false }
  const asks = await asked({ loopgate: ordinary }, { headers: { 'x-loopgate-tool-execution': 'auto' } })
  t.equal(asks.status, 200, 'what asks for nothing new is done')
  const wrong: readonly [object, string][] = [
    [{ nope: 1 }, 'loopgate.nope'],
    [{ limits: { max_call: 1 } }, 'loopgate.limits.max_call'],
    [{ limits: { max_cost_usd: 0 } }, 'loopgate.limits.max_cost_usd'],
    [{ limits: { max_cost_usd: 0.0000001 } }, 'loopgate.limits.max_cost_usd'],
    [{ tags: ['x'.repeat(65)] }, 'loopgate.tags[0]'],
    [{ tool_search: { max_results: 0 } }, 'loopgate.tool_search.max_results'],
    [{ structured_output: { mode: 'prompt' } }, 'loopgate.structured_output.mode'],
    [{ structured_output: { max_retries: -1 } }, 'loopgate.structured_output.max_retries'],
    [{ structured_output: { on_exhausted: 'x' } }, 'loopgate.structured_output.on_exhausted']
  ]
  for (const [loopgate, param] of wrong) {
    t.match(await asked({ loopgate }), { status: 400, error: { code: 'invalid_request', param } })
  }
  const headers = { 'x-loopgate-memory': 'off', 'x-loopgate-tool-search': 'off', 'x-loopgate-timeout-ms': '5000' }
  const { turn } = await asked({ session_id: 's', loopgate: { memory: 'on' } }, { headers })
  t.match(turn?.policy, { memory: { mode: 'on' }, toolSearch: { mode: 'off' }, limits: { maxTurnMs: 5000 } })
  t.match(await asked({}, { headers: { 'x-loopgate-timeout-ms': '1.5' } }), {
    error: { code: 'invalid_request', param: 'x-loopgate-timeout-ms' }
  })
  const execution = async (header: string, loopgate = {}) =>
    (await asked({ loopgate }, { headers: { 'x-loopgate-tool-execution': header } })).turn?.policy.toolExecution
  t.equal(await execution('manual'), 'manual')
  t.equal(await execution('manual', { tool_execution: 'auto' }), 'auto')
  t.match(await asked({}, { headers: { 'x-loopgate-tool-execution': 'ask' } }), { status: 400 })
})
