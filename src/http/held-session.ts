import type { ServerResponse } from 'node:http'
import type { Message } from '../core/chat.ts'
import type { Principal, Session } from '../core/principal.ts'
import { sessionLease } from './session-lease.ts'
import type { TurnServices } from './turn-services.ts'
import { type Waiting, waitingTurns } from './turn-waiting.ts'

export interface HeldSession extends Waiting {
  /** Gives the session to the next request. */
  readonly release: () => void
}

interface Asked {
  readonly session: Session
  readonly principal: Principal
  readonly messages: readonly Message[]
  readonly raw: ServerResponse
}

const NOTHING = () => {}

/**
 * The session of a request, held until `release`, with its turns that wait. What waits is read once the session is
 * held, for whoever held it before may have gone on from it. A session that nobody named is nobody else's: it is held
 * only where the request goes on with a turn by its call ids.
 */
export async function heldSession(
  { stores, config }: Pick<TurnServices, 'stores' | 'config'>,
  { session: named, principal, messages, raw }: Asked
): Promise<HeldSession> {
  const asked = { session: named, principal, messages, scope: config.session.scope }
  const found = named.named ? undefined : await waitingTurns(stores.calls, asked)
  if (found && found.turns.length === 0) return { ...found, release: NOTHING }
  const { key } = found?.session ?? named
  const release = await sessionLease(stores.leases, key, raw, config.session)
  try {
    return { ...(await waitingTurns(stores.calls, asked)), release }
  } catch (error) {
    release()
    throw error
  }
}
