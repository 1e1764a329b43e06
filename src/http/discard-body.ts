import type { IncomingMessage } from 'node:http'

const MAX_BYTES = 67_108_864
const MAX_MS = 5000

/**
 * Reads what a client still sends and throws it away, at most 64 MiB and 5 s of it. A client that is in the middle of
 * its body reads no answer: were the connection closed under it, it would see a broken pipe and not the 413.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    let read = 0
    const over = () => {
      clearTimeout(timer)
      request.off('data', count).off('end', over).off('close', over)
      resolve()
    }
    const count = ({ length }: Buffer) => {
      read += length
      if (read > MAX_BYTES) over()
    }
    const timer = setTimeout(over, MAX_MS).unref()
    request.on('data', count).once('end', over).once('close', over).resume()
  })
}
