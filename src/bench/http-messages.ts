/** Just enough HTTP/1.1 for the bench's own two ends: they must cost less than what stands between them. */
import type { Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * Calls back with each whole message of a connection, head and body as they came. A body has a content length, or it
 * is chunked and its end falls on the end of a read. One message at a time: no pipelining.
 */
export function onMessages(socket: Socket, onMessage: (head: string, body: Buffer) => void): void {
  let held: Buffer[] = []
  let received = 0
  let message: { head: string; bodyAt: number; length: number | undefined } | undefined

  socket.on('data', (data: Buffer) => {
    held.push(data)
    received += data.length
    if (message === undefined) {
      const all = held.length === 1 ? data : Buffer.concat(held)
      const end = all.indexOf(HEAD_END)
      if (end < 0) return
      held = [all]
      const head = all.toString('latin1', 0, end)
      message = { head, bodyAt: end + HEAD_END.length, length: lengthOf(head) }
    }
    const { head, bodyAt, length } = message
    const isWhole = length === undefined ? endsInLastChunk(data) : received >= bodyAt + length
    if (!isWhole) return
    const whole = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held)
    held = []
    received = 0
    message = undefined
    onMessage(head, whole.subarray(bodyAt))
  })
}

/** `undefined`: chunked. */
function lengthOf(head: string): number | undefined {
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (declared !== undefined) return Number(declared)
  return /\r\ntransfer-encoding: *chunked/i.test(head) ? undefined : 0
}

function endsInLastChunk(data: Buffer): boolean {
  return data.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
}
