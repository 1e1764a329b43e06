import type { Config } from '../config/schema.ts'
import type { Tool } from '../core/chat.ts'
import { matchesGlob } from '../core/glob.ts'
import { ownValue } from '../core/own-value.ts'
import type { Limits, MemoryPolicy, Policy, StructuredOutputPolicy, ToolSearchPolicy } from '../core/policy.ts'
import { NO_OPTIONS, type TurnOptions } from './turn-options.ts'

/** The sections of the configuration that a turn's policy is made of. */
export type PolicyConfig = Pick<Config, 'loop' | 'limits' | 'memory' | 'structured_output' | 'tool_search'>

/** The most results a search may be asked for where nothing is configured (contract §5). */
const MAX_RESULTS = 10

/**
 * What holds for one turn: the configuration, and within it what the request asks for; of limits the tighter wins.
 * `isNamed`: the client named its session. `tools`: the gateway tools attached.
 */
export function policyOf(
  config: PolicyConfig,
  options: TurnOptions,
  { isNamed, tools }: { readonly isNamed: boolean; readonly tools: ReadonlyMap<string, Tool> }
): Policy {
  if (options !== NO_OPTIONS) return made(config, options, isNamed, tools)
  // Most requests ask for nothing of their own: one policy is for all of them.
  const known = configured.get(config)?.get(isNamed)
  if (known) return known
  const policy = made(config, options, isNamed, tools)
  configured.set(config, new Map([...(configured.get(config) ?? []), [isNamed, policy]]))
  return policy
}

const configured = new WeakMap<PolicyConfig, ReadonlyMap<boolean, Policy>>()

function made(config: PolicyConfig, options: TurnOptions, isNamed: boolean, tools: ReadonlyMap<string, Tool>): Policy {
  return {
    limits: limitsOf(config.limits, options, tools),
    toolExecution: options.toolExecution ?? config.loop.tool_execution,
    preamble: options.preamble ?? config.loop.preamble,
    toolSearch: toolSearchOf(config.tool_search, options),
    memory: memoryOf(config.memory, options, isNamed),
    structuredOutput: structuredOutputOf(config.structured_output, options),
    maxParallel: config.loop.max_parallel
  }
}

function memoryOf(config: Config['memory'], { memory }: TurnOptions, isNamed: boolean): MemoryPolicy {
  const mode = memory.mode ?? config.mode
  const { max_turns: maxTurns, max_messages: maxMessages, max_tokens: maxTokens } = config.window
  return {
    mode: mode === 'auto' ? (isNamed ? 'on' : 'off') : mode,
    recall: memory.recall ?? config.recall,
    window: {
      ...(maxTurns !== undefined && { maxTurns }),
      ...(maxMessages !== undefined && { maxMessages }),
      ...(maxTokens !== undefined && { maxTokens })
    }
  }
}

/** Of retries a request can have fewer; what comes after them is its own to say. */
function structuredOutputOf(
  config: Config['structured_output'],
  { structuredOutput: asked }: TurnOptions
): StructuredOutputPolicy {
  return {
    maxRetries: Math.min(asked.maxRetries ?? config.max_retries, config.max_retries),
    onExhausted: asked.onExhausted ?? config.on_exhausted
  }
}

function toolSearchOf(config: Config['tool_search'], { toolSearch }: TurnOptions): ToolSearchPolicy {
  const { max_results: configured, max_results_limit: cap, accumulate } = config
  const mode = toolSearch.mode ?? config.mode
  if (toolSearch.maxResults !== undefined) {
    // A request that names a number means it as the cap too, and may not go beyond the configured one.
    return { mode, accumulate, maxResults: Math.min(toolSearch.maxResults, cap ?? configured ?? MAX_RESULTS) }
  }
  return {
    mode,
    accumulate,
    ...(configured !== undefined && { maxResults: configured }),
    ...(cap !== undefined && { maxResultsLimit: cap })
  }
}

function limitsOf(config: Config['limits'], options: TurnOptions, tools: ReadonlyMap<string, Tool>): Limits {
  const asked = options.limits
  const maxTokens = tighter(config.max_tokens ?? -1, asked.max_tokens)
  const maxCostUsd = tighter(config.max_cost_usd ?? -1, asked.max_cost_usd)
  const perTool = perToolOf(config, asked, tools)
  return {
    maxCallsPerTool: tighter(config.max_calls_per_tool, asked.max_calls_per_tool),
    perTool,
    exemptTools: exemptOf(config, asked),
    maxCalls: tighter(config.max_calls, asked.max_calls),
    maxIdenticalCalls: tighter(config.max_identical_calls, asked.max_identical_calls),
    maxRounds: tighter(config.max_rounds, asked.max_rounds),
    maxTurnMs: tighter(tighter(config.max_turn_ms, asked.max_turn_ms), options.timeoutMs),
    ...(maxTokens !== -1 && { maxTokens }),
    ...(maxCostUsd !== -1 && { maxCostMicros: Math.round(maxCostUsd * 1_000_000) }),
    limitCheck: asked.limit_check ?? config.limit_check,
    onLimit: asked.on_limit ?? config.on_limit
  }
}

/** -1 = no limit; absent = nothing asked. */
function tighter(configured: number, asked = -1): number {
  if (asked === -1) return configured
  return configured === -1 ? asked : Math.min(configured, asked)
}

/** A request's limit for all tools or for one also tightens what is configured for a single tool. */
function perToolOf(
  config: Config['limits'],
  asked: TurnOptions['limits'],
  tools: ReadonlyMap<string, Tool>
): Readonly<Record<string, number>> {
  if (asked.max_calls_per_tool === undefined && asked.per_tool === undefined) return config.per_tool
  // Without a prototype: `__proto__` is a name like any other.
  const perTool: Record<string, number> = Object.create(null)
  const ownLimits = tools.values().filter(tool => tool.maxCallsPerTurn !== undefined)
  const names = [...Object.keys(config.per_tool), ...Object.keys(asked.per_tool ?? {}), ...ownLimits.map(t => t.name)]
  for (const name of names) {
    const configured = ownValue(config.per_tool, name) ?? tools.get(name)?.maxCallsPerTurn ?? config.max_calls_per_tool
    perTool[name] = tighter(tighter(configured, asked.max_calls_per_tool), ownValue(asked.per_tool ?? {}, name))
  }
  return perTool
}

/** A request can shorten the list, and a limit of its own for a tool takes that tool off it. */
function exemptOf({ exempt_tools }: Config['limits'], asked: TurnOptions['limits']): readonly string[] {
  const limited = Object.entries(asked.per_tool ?? {}).filter(([, max]) => max !== -1)
  return exempt_tools.filter(
    pattern =>
      (asked.exempt_tools?.includes(pattern) ?? true) && !limited.some(([name]) => matchesGlob(name, [pattern]))
  )
}
