/** The promise, or a rejection as soon as the signal is aborted: what a plugin does may not listen to it. */
export async function inTime<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: over, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
