import type { Usage } from '../core/chat.ts'
import type { TurnRow } from '../stores/contracts.ts'
import type { CallView, RoundView } from './run-round.ts'

/** What the run view of a turn says before the request that goes on with it. */
export interface EarlierRun {
  readonly createdAt: number
  readonly durationMs: number
  readonly usage: Usage | undefined
  readonly isEstimated: boolean
  /** Micro-dollars; absent where no prices were configured. */
  readonly costMicros: number | undefined
  readonly revealed: readonly string[]
  readonly notes: readonly string[]
  readonly rounds: readonly RoundView[]
}

/** `statusOf`: what has become of a call that was open. */
export function earlierRun({ createdAt, view }: TurnRow, statusOf: (callId: string) => string | undefined): EarlierRun {
  const { duration_ms: durationMs, usage, cost_usd: cost, revealed, notes = [], rounds } = JSON.parse(view)
  return {
    ...{ createdAt, durationMs, revealed, notes },
    usage: usageOf(usage),
    isEstimated: usage.estimated,
    costMicros: cost === undefined ? undefined : Math.round(cost * 1_000_000),
    rounds: (rounds as RoundView[]).map(round => ({
      ...round,
      calls: round.calls.map(call => settled(call, statusOf))
    }))
  }
}

/** Number of the last round. */
export function lastRound({ rounds }: EarlierRun): number {
  return rounds.reduce((last, { n }) => Math.max(last, n), 0)
}

/** Those of earlier requests, then this one's. Calls that were open and have run since stand in their own round. */
export function joinedRounds(earlier: EarlierRun | undefined, rounds: readonly RoundView[]): readonly RoundView[] {
  if (earlier === undefined) return rounds
  const now = new Map(rounds.map(round => [round.n, round]))
  const before = earlier.rounds.map(round => {
    const ran = new Map(now.get(round.n)?.calls.map(call => [call.id, call]))
    return ran.size === 0 ? round : { ...round, calls: round.calls.map(call => ran.get(call.id) ?? call) }
  })
  const known = new Set(before.map(({ n }) => n))
  return [...before, ...rounds.filter(({ n }) => !known.has(n))]
}

function settled(call: CallView, statusOf: (callId: string) => string | undefined): CallView {
  const status = call.status === 'open' ? statusOf(call.id) : undefined
  return status === undefined ? call : { ...call, status, is_error: status !== 'ok' }
}

/** Nothing where no round reported any. */
function usageOf(view: Readonly<Record<string, number | undefined>>): Usage | undefined {
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0, total_tokens: total = 0 } = view
  if (prompt + completion + total === 0) return undefined
  const { cached_tokens: cached, cache_write_tokens: cacheWrite, reasoning_tokens: reasoning } = view
  return {
    ...{ prompt, completion, total },
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning })
  }
}
