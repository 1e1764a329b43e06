import type { Finish, LimitHit, Usage } from '../core/chat.ts'
import type { Turn } from '../core/turn.ts'

/** Does a limit end the turn before this round, or before the batch it asked for (contract §4.3)? */
export function endOf(
  turn: Turn,
  round: number,
  usage: Usage | undefined
): { hit: LimitHit; text: string } | undefined {
  const { maxRounds, maxTokens, maxTurnMs } = turn.policy.limits
  if (maxRounds !== -1 && round > maxRounds) {
    return {
      hit: { kind: 'max_rounds', max: maxRounds },
      text: `Limit reached: at most ${maxRounds} model calls in one turn.`
    }
  }
  if (maxTokens !== undefined && maxTokens !== -1 && usage !== undefined && usage.total >= maxTokens) {
    return { hit: { kind: 'max_tokens', max: maxTokens }, text: 'Limit reached: tokens.' }
  }
  if (maxTurnMs !== -1 && Date.now() - turn.startedAt >= maxTurnMs) {
    return { hit: { kind: 'max_turn_ms', max: maxTurnMs }, text: 'Limit reached: time.' }
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
