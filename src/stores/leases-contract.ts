/** How to wait for a session that another request holds. */
export interface LeaseWish {
  /** `reject`: not at all. */
  readonly mode: 'queue' | 'reject'
  /** At most so long, in milliseconds. */
  readonly waitMs: number
  /** Aborted when nobody waits any more: the wait rejects with its reason. */
  readonly signal: AbortSignal
}

/** One turn at a time in a session (contract §4.12). */
export interface Leases {
  /**
   * Resolves to what gives the session back, to be called once; at once, without a promise, where it is free. Those that
   * wait get it in the order in which they came. `session_busy` when it takes too long or too many wait.
   */
  enter(sessionKey: string, wish: LeaseWish): (() => void) | Promise<() => void>
  /** Whoever waits now waits no more, for this reason. */
  end(why: Error): void
}
