import type { Usage } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'

type Told<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>

/** A call as it ended, or that it waits for the client. */
export type RoundCall = Omit<Told<'tool.end'>, 'type' | 'status'> & {
  readonly status: Told<'tool.end'>['status'] | 'open'
}

/** One round of a turn while it is told. */
export interface RoundRecord {
  readonly n: number
  offered: readonly string[]
  readonly attempts: Told<'attempt'>[]
  readonly calls: RoundCall[]
  target?: { readonly provider: string; readonly model: string }
  usage?: Usage | undefined
  isEstimated?: boolean
  finish?: string
}

/** Usage in the run view and in events: flat, details only where reported. */
export function usageView(usage: Usage | undefined, isEstimated: boolean): object {
  const { prompt = 0, completion = 0, total = 0, cached, cacheWrite, reasoning } = usage ?? {}
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    ...(cached !== undefined && { cached_tokens: cached }),
    ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    estimated: isEstimated
  }
}

export type RoundView = Readonly<Record<string, unknown>> & {
  readonly n: number
  readonly calls: readonly CallView[]
}

export type CallView = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: string }

/** A round as the run view and `round_list` show it. Absent is `null`, as everywhere on the wire. */
export function roundView({ n, target, attempts, finish, usage, isEstimated, offered, calls }: RoundRecord): RoundView {
  return {
    n,
    provider: target?.provider ?? null,
    upstream_model: target?.model ?? null,
    attempts: attempts.map(attempt => ({
      target: `${attempt.provider}/${attempt.model}`,
      status: attempt.status ?? null,
      outcome: attempt.outcome,
      duration_ms: Math.round(attempt.durationMs)
    })),
    finish: finish ?? null,
    usage: usageView(usage, isEstimated === true),
    tools_offered: offered,
    calls: calls.toSorted((a, b) => a.index - b.index).map(callView)
  }
}

function callView(call: RoundCall): CallView {
  return {
    id: call.callId,
    webhook_id: call.webhookId ?? null,
    tool: call.tool,
    tool_version: call.version ?? null,
    kind: call.kind ?? null,
    status: call.status,
    is_error: call.status !== 'ok' && call.status !== 'open',
    code: call.code ?? null,
    attempts: call.attempts,
    duration_ms: Math.round(call.durationMs),
    augmented: call.augmented ?? null,
    approval_id: null
  }
}
