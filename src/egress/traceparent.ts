import { randomUUID } from 'node:crypto'
import type { Turn } from '../core/turn.ts'

/** The `traceparent` that a request of the turn's carries: the client's own, or one that the turn begins. */
export function traceparent({ id, request }: Pick<Turn, 'id' | 'request'>): string {
  return request.traceparent ?? traceparentOf(id)
}

/** A turn that came without a trace begins one: its ULID is the trace id, so all its calls are found together. */
function traceparentOf(turnId: string): string {
  let trace = 0n
  for (const character of turnId.slice(turnId.indexOf('_') + 1)) {
    trace = trace * 32n + BigInt(Math.max(0, '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(character)))
  }
  const traceId = BigInt.asUintN(128, trace).toString(16).padStart(32, '0')
  // A UUID's random bytes are drawn in advance, single bytes are not.
  return `00-${traceId}-${randomUUID().replaceAll('-', '').slice(16)}-00`
}
