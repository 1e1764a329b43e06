import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../core/errors.ts'
import type { AuthLevel } from './auth.ts'
import type { TurnsUnderWay } from './turns-under-way.ts'

/** What turns that are ended get to tell their clients. */
const LAST_WORDS_MS = 1000

export interface Drain {
  /** True once the gateway was told to stop. */
  readonly draining: () => boolean
  /**
   * No new work is taken; resolves when what runs has ended. Turns that still run after `drainMs` end with
   * `shutting_down`, and have a second to tell their clients.
   */
  drain(drainMs: number): Promise<void>
}

/**
 * Lets a stopping gateway finish what it has begun: new requests get 503 `shutting_down`, all but the open routes, by
 * which operators watch it stop. To be called on the root instance before any route is added.
 */
export function drainOf(app: FastifyInstance, turns: Pick<TurnsUnderWay, 'end'>): Drain {
  let stopping = false
  let running = 0
  let ended = () => {}
  app.addHook('onRequest', (request, reply, done) => {
    if (stopping && (request.routeOptions.config as { auth?: AuthLevel }).auth !== 'none') {
      reply.header('connection', 'close')
      return done(new GatewayError('shutting_down', 'The gateway is stopping; send the request again.'))
    }
    running++
    reply.raw.once('close', () => {
      if (--running === 0) ended()
    })
    done()
  })
  return {
    draining: () => stopping,
    drain: drainMs => {
      stopping = true
      if (running === 0) return Promise.resolve()
      return new Promise(resolve => {
        const timers = [
          setTimeout(() => cut(turns), drainMs),
          // What is no turn, or does not heed its signal, is left to the closing of the connections.
          setTimeout(resolve, drainMs + LAST_WORDS_MS)
        ]
        ended = () => {
          for (const timer of timers) clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}

function cut(turns: Pick<TurnsUnderWay, 'end'>): void {
  turns.end(new GatewayError('shutting_down', 'The gateway has stopped before the answer was whole; ask again.'))
}
