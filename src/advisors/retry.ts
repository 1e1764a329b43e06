import { setTimeout as sleep } from 'node:timers/promises'
import type { Delta, Usage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { withSpent } from '../core/spent.ts'
import type { Advisor, Emit, Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { withUsageOf } from '../core/with-usage-of.ts'

export interface RetryOptions {
  /** Attempts after the first. Default 2. */
  readonly maxRetries?: number
  /** Shortest and longest wait, full jitter between. Defaults 250 and 4,000 ms. */
  readonly minMs?: number
  readonly maxMs?: number
  /** A `retry-after` up to this long is waited for; a longer one ends the trying. Default 20,000 ms. */
  readonly maxRetryAfterMs?: number
}

/**
 * Repeats one model call that failed for a passing reason, but never once the client has seen something of it, and
 * never a tool: it stands inside the loop (contract §10). Options may differ by the model that the prompt names.
 */
export function retry(options: RetryOptions | ((model: string) => RetryOptions) = {}): Advisor {
  return {
    name: 'retry',
    async advise(turn, next) {
      const chosen = typeof options === 'function' ? options(turn.prompt.model) : options
      const { maxRetries = 2, minMs = 250, maxMs = 4000, maxRetryAfterMs = 20_000 } = chosen
      let lost: Usage | undefined
      for (let attempt = 0; ; attempt++) {
        const seen: Seen = { visible: false, target: undefined }
        try {
          const answer = await next(watched(turn, seen))
          return withUsageOf(answer, { usage: lost })
        } catch (error) {
          if (!(error instanceof GatewayError) || turn.signal.aborted) throw error
          const { retryAfterMs } = error.detail
          const isTooLong = retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs
          if (seen.visible || attempt >= maxRetries || !error.transient || isTooLong) {
            throw withSpent(error, lost)
          }
          lost = addUsage(lost, error.detail.usage)
          const delayMs = retryAfterMs ?? jitter(attempt, minMs, maxMs)
          turn.tell({ type: 'retry', round: turn.round, code: error.code, delayMs, ...seen.target })
          await sleep(delayMs, undefined, { signal: turn.signal })
        }
      }
    }
  }
}

/** What was seen of this attempt: by the client, for whom calls count only where no loop holds them back; and its target. */
interface Seen {
  visible: boolean
  target: { readonly provider: string; readonly model: string } | undefined
}

function watched(turn: Turn, seen: Seen): Turn {
  const { emit } = turn
  const tell: Turn['tell'] = event => {
    if (event.type === 'attempt') seen.target = { provider: event.provider, model: event.model }
    turn.tell(event)
  }
  if (emit === undefined) return { ...turn, tell }
  const watching: Emit = delta => {
    seen.visible ||= isVisible(delta, turn)
    return emit(delta)
  }
  return { ...turn, tell, emit: watching }
}

function isVisible(delta: Delta, { callsAreHeld, textIsHeld }: Turn): boolean {
  if (delta.type === 'call') return callsAreHeld !== true
  if (textIsHeld && delta.type !== 'reasoning') return false
  return delta.type === 'fields' || delta.text !== ''
}

/** Anywhere between the shortest wait and a ceiling that doubles: a crowd of callers does not come back as one. */
function jitter(attempt: number, minMs: number, maxMs: number): number {
  const ceilingMs = Math.min(minMs * 2 ** (attempt + 1), maxMs)
  return minMs + Math.random() * Math.max(0, ceilingMs - minMs)
}
