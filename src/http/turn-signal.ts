import type { ServerResponse } from 'node:http'
import { GatewayError } from '../core/errors.ts'

export interface TurnSignal {
  readonly signal: AbortSignal
  /** The client has gone before it had its answer. */
  readonly isClientGone: () => boolean
  /** Ends the turn before its time. */
  end(why: GatewayError): void
  /** Another connection reads the answer: the turn goes on while it does. To be called when it has gone. */
  attend(): () => void
  /** Stops the clock; to be called when the turn is over. */
  done(): void
}

/** What the loop's own time limit, which ends a turn in good order, is given before the turn is cut: 5 % of the time. */
const GRACE = 0.05
const MAX_GRACE_MS = 250
/** Timers beyond this fire at once. */
const MAX_TIMER_MS = 2_147_483_647

/** Of a turn: what earlier requests took of its time, and how long it goes on without a client. In milliseconds. */
interface TurnTimes {
  /** Default 0. */
  readonly usedMs?: number
  /** From the moment at which nobody reads any more until the client counts as gone. Default 0. */
  readonly graceMs?: number
}

/**
 * The signal of a turn: aborted when the client closes the connection before the answer was written and does not come
 * back, a moment after `limitMs` (-1 = never), of which earlier requests of the turn took `usedMs`, or by `end`. Not
 * Fastify's `request.signal`: that one fires when the body has been read (spec/dependencies.md §5).
 */
export function turnSignal(
  raw: ServerResponse,
  limitMs: number,
  { usedMs = 0, graceMs = 0 }: TurnTimes = {}
): TurnSignal {
  const maxTurnMs = limitMs === -1 ? -1 : Math.max(1, limitMs - usedMs)
  const controller = new AbortController()
  let readers = 1
  let isGone = false
  let grace: NodeJS.Timeout | undefined
  const gone = () => {
    isGone = true
    controller.abort(new GatewayError('client_closed', 'The client left before it had its answer.'))
  }
  const leave = () => {
    if (--readers > 0) return
    if (graceMs > 0) grace = setTimeout(gone, graceMs).unref()
    else gone()
  }
  const left = () => {
    if (!raw.writableFinished) leave()
  }
  if (raw.destroyed) left()
  else raw.once('close', left)

  const end = (why: GatewayError) => controller.abort(why)
  const cut = () => end(timeIsUp(maxTurnMs))
  const timer = maxTurnMs === -1 ? undefined : setTimeout(cut, withGrace(maxTurnMs)).unref()
  return {
    signal: controller.signal,
    isClientGone: () => isGone,
    end,
    attend() {
      readers++
      clearTimeout(grace)
      return leave
    },
    done() {
      // Whoever leaves now leaves an answer that is whole.
      readers = Number.POSITIVE_INFINITY
      clearTimeout(grace)
      clearTimeout(timer)
      raw.off('close', left)
    }
  }
}

function withGrace(ms: number): number {
  return Math.min(ms + Math.min(ms * GRACE, MAX_GRACE_MS), MAX_TIMER_MS)
}

function timeIsUp(maxTurnMs: number): GatewayError {
  return new GatewayError('upstream_timeout', `The turn took longer than ${maxTurnMs} ms (limits.max_turn_ms).`, {
    phase: 'total'
  })
}
