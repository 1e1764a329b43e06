import type { Config } from '../config/schema.ts'
import type { Principal, Session } from '../core/principal.ts'
import type { WaitingTurn } from '../stores/contracts.ts'
import { sessionKey } from './session-key.ts'

interface TakingUp {
  readonly named: boolean
  readonly since: number | undefined
  readonly principal: Principal
  readonly scope: Config['session']['scope']
}

/** The session that the turn waits in, taken up by another request. */
export function waitingSession(
  { session: { key, id, branch } }: WaitingTurn,
  { named, since, principal, scope }: TakingUp
): Session {
  const root = branch !== 'main' && { root: sessionKey(principal, id, scope) }
  return { key, id, branch, named, ...(since !== undefined && { since }), ...root }
}
