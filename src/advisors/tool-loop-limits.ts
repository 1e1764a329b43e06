import type { Finish, LimitHit, Usage } from '../core/chat.ts'
import type { Breach, Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'

/** A limit that was met, what it does to the turn, and its text. */
export interface Limit extends Breach {
  readonly text: string
}

/**
 * Does a limit end the turn before this round, or before the batch it asked for (contract §4.3)? Tokens, cost and time
 * always stop; beyond its rounds a turn that may be told has one more, for its answer.
 */
export function endOf(turn: Turn, round: number, usage: Usage | undefined): Limit | undefined {
  const { maxRounds, onLimit } = turn.policy.limits
  const isBeyond = maxRounds !== -1 && round > maxRounds
  const rounds: Limit | undefined = isBeyond
    ? {
        hit: { kind: 'max_rounds', max: maxRounds },
        action: onLimit === 'stop' ? 'stop' : 'force_answer',
        text: `Limit reached: at most ${maxRounds} model calls in one turn.`
      }
    : undefined
  return rounds?.action === 'stop' ? rounds : (spentOf(turn, usage) ?? rounds)
}

function spentOf(turn: Turn, usage: Usage | undefined): Limit | undefined {
  const { maxTokens, maxCostMicros, maxTurnMs } = turn.policy.limits
  const used = addUsage(turn.spent?.usage, usage)
  if (maxTokens !== undefined && maxTokens !== -1 && used !== undefined && used.total >= maxTokens) {
    return { hit: { kind: 'max_tokens', max: maxTokens }, action: 'stop', text: 'Limit reached: tokens.' }
  }
  if (maxCostMicros !== undefined && turn.costMicros !== undefined && turn.costMicros() >= maxCostMicros) {
    return {
      hit: { kind: 'max_cost_usd', max: maxCostMicros / 1_000_000 },
      action: 'stop',
      text: 'Limit reached: cost.'
    }
  }
  if (maxTurnMs !== -1 && Date.now() - turn.startedAt >= maxTurnMs) {
    return { hit: { kind: 'max_turn_ms', max: maxTurnMs }, action: 'stop', text: 'Limit reached: time.' }
  }
  return undefined
}

const FINISH = {
  max_calls_per_tool: 'tool_call_limit',
  max_calls: 'tool_call_limit',
  max_identical_calls: 'identical_calls',
  max_rounds: 'round_limit',
  max_tokens: 'token_limit',
  max_cost_usd: 'cost_limit',
  max_turn_ms: 'time_limit'
} as const satisfies Record<LimitHit['kind'], Finish>

/** The finish a limit gives (contract §4.4). */
export function finishOf(hit: LimitHit): Finish {
  return FINISH[hit.kind]
}
