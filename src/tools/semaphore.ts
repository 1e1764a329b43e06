/** Lets at most so many run at once; the others wait in order. */
export interface Semaphore {
  /** Resolves to the function that gives the place back. Rejects with the signal's reason when it is aborted. */
  enter(signal: AbortSignal): Promise<() => void>
}

export function semaphore(places: number): Semaphore {
  const waiting = new Set<() => void>()
  let taken = 0

  const leaveOnce = (): (() => void) => {
    let left = false
    return () => {
      if (left) return
      left = true
      taken--
      const [next] = waiting
      next?.()
    }
  }

  return {
    async enter(signal) {
      signal.throwIfAborted()
      if (taken >= places) {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        const wake = (): void => {
          waiting.delete(wake)
          // Taken for the one that is woken: nobody can slip in before it goes on.
          taken++
          resolve()
        }
        const give = (): void => {
          waiting.delete(wake)
          reject(signal.reason)
        }
        waiting.add(wake)
        signal.addEventListener('abort', give, { once: true })
        try {
          await promise
        } finally {
          signal.removeEventListener('abort', give)
        }
      } else taken++
      return leaveOnce()
    }
  }
}
