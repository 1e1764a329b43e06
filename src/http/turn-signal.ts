import type { ServerResponse } from 'node:http'
import { GatewayError } from '../core/errors.ts'

export interface TurnSignal {
  readonly signal: AbortSignal
  /** The client has gone before it had its answer. */
  readonly isClientGone: () => boolean
  /** Stops the clock; to be called when the turn is over. */
  done(): void
}

/** What the loop's own time limit, which ends a turn in good order, is given before the turn is cut. */
const GRACE_MS = 1000
/** Timers beyond this fire at once. */
const MAX_TIMER_MS = 2_147_483_647

/**
 * The signal of a turn: aborted when the client closes the connection before the answer was written, or a moment
 * after `maxTurnMs` (-1 = never). Not Fastify's `request.signal`: that one fires when the body has been read
 * (spec/dependencies.md §5).
 */
export function turnSignal(raw: ServerResponse, maxTurnMs: number): TurnSignal {
  const controller = new AbortController()
  let isGone = false
  const left = () => {
    if (raw.writableFinished) return
    isGone = true
    controller.abort(new GatewayError('client_closed', 'The client left before it had its answer.'))
  }
  if (raw.destroyed) left()
  else raw.once('close', left)

  const cut = () => controller.abort(timeIsUp(maxTurnMs))
  const timer = maxTurnMs === -1 ? undefined : setTimeout(cut, Math.min(maxTurnMs + GRACE_MS, MAX_TIMER_MS)).unref()
  return {
    signal: controller.signal,
    isClientGone: () => isGone,
    done() {
      clearTimeout(timer)
      raw.off('close', left)
    }
  }
}

function timeIsUp(maxTurnMs: number): GatewayError {
  return new GatewayError('upstream_timeout', `The turn took longer than ${maxTurnMs} ms (limits.max_turn_ms).`, {
    phase: 'total'
  })
}
