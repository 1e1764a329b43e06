/** The promise, or a rejection as soon as the signal is aborted: what a plugin does may not listen to it. */
export async function inTime<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
