/** A turn of this process that a retry of its request may meet. */
export interface LiveTurn {
  readonly bodyHash: string
  /** Resolves when it is over, all of it, and its end is written down. */
  readonly over: Promise<void>
  /** Says so. */
  end(): void
}

/** Turns that run and that a request may come again for, by what it is known by (contract §4.12). */
export class LiveTurns {
  readonly #turns = new Map<string, LiveTurn>()

  get(retryId: string): LiveTurn | undefined {
    return this.#turns.get(retryId)
  }

  /** From now on whoever comes again with this finds it. What was there before is found no more. */
  enter(retryId: string, bodyHash: string): LiveTurn {
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const live: LiveTurn = {
      bodyHash,
      over,
      end: () => {
        if (this.#turns.get(retryId) === live) this.#turns.delete(retryId)
        resolve()
      }
    }
    this.#turns.set(retryId, live)
    return live
  }
}
