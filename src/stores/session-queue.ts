import { GatewayError } from '../core/errors.ts'
import type { Leases, LeaseWish } from './leases-contract.ts'

/** Requests that may wait for one session. */
const MAX_WAITING = 8
/** When a client that was refused should come back. */
const RETRY_AFTER_MS = 1000

interface Waiter {
  /** It is its turn. */
  go(): void
  refuse(why: Error): void
}

/** Leases of one process: it is the only one that has the store's file, so its memory is what they need. */
export class SessionQueue implements Leases {
  /** Sessions that are held, each with those that wait, first come first. */
  readonly #held = new Map<string, Waiter[]>()

  enter(sessionKey: string, wish: LeaseWish): (() => void) | Promise<() => void> {
    const waiting = this.#held.get(sessionKey)
    if (waiting === undefined) {
      this.#held.set(sessionKey, [])
      return this.#leaving(sessionKey)
    }
    if (wish.mode === 'reject' || wish.waitMs === 0) throw busy('Another turn of the session runs.')
    if (waiting.length >= MAX_WAITING) throw busy(`${MAX_WAITING} requests wait for the session already.`)
    return this.#wait(sessionKey, waiting, wish)
  }

  end(why: Error): void {
    for (const waiting of this.#held.values()) for (const waiter of [...waiting]) waiter.refuse(why)
  }

  #wait(sessionKey: string, waiting: Waiter[], { waitMs, signal }: LeaseWish): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', left)
        const at = waiting.indexOf(waiter)
        if (at >= 0) waiting.splice(at, 1)
      }
      const waiter: Waiter = {
        go: () => {
          settle()
          resolve(this.#leaving(sessionKey))
        },
        refuse: why => {
          settle()
          reject(why)
        }
      }
      const left = () => waiter.refuse(signal.reason as Error)
      const late = () => waiter.refuse(busy(`The session was not free within ${waitMs} ms (session.queue_ms).`))
      const timer = setTimeout(late, waitMs).unref()
      if (signal.aborted) return left()
      signal.addEventListener('abort', left, { once: true })
      waiting.push(waiter)
    })
  }

  #leaving(sessionKey: string): () => void {
    let isHere = true
    return () => {
      if (!isHere) return
      isHere = false
      const next = this.#held.get(sessionKey)?.[0]
      if (next) next.go()
      else this.#held.delete(sessionKey)
    }
  }
}

function busy(why: string): GatewayError {
  return new GatewayError('session_busy', `${why} Send the request again a little later.`, {
    retryAfterMs: RETRY_AFTER_MS
  })
}
