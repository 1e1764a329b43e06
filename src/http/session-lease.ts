import type { ServerResponse } from 'node:http'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import type { Leases } from '../stores/contracts.ts'

/**
 * Waits until no other turn of the session runs (contract §4.12); resolves to what gives the session back. Rejects with
 * `session_busy`, or with `client_closed` when the client leaves while it waits.
 */
export async function sessionLease(
  leases: Pick<Leases, 'enter'>,
  sessionKey: string,
  raw: ServerResponse,
  { concurrency: mode, queue_ms: waitMs }: Pick<Config['session'], 'concurrency' | 'queue_ms'>
): Promise<() => void> {
  const gone = new AbortController()
  const left = () => gone.abort(new GatewayError('client_closed', 'The client left before its turn began.'))
  raw.once('close', left)
  try {
    return await leases.enter(sessionKey, { mode, waitMs, signal: gone.signal })
  } finally {
    raw.off('close', left)
  }
}
