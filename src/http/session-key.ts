import { hash } from 'node:crypto'
import type { Principal } from '../core/principal.ts'

/**
 * The store's key of a session: 128 bits of SHA-256 over tenant, key id and the client's name for it, as hex. Nobody
 * can name another's session, and the same name under another key is another session (contract §3.1), unless
 * `session.scope` is `tenant`. A branch has a key of its own.
 */
export function sessionKey(
  principal: Pick<Principal, 'tenant' | 'key'>,
  id: string,
  scope: 'key' | 'tenant' = 'key',
  branch = 'main'
): string {
  const owner: unknown[] = scope === 'key' ? [principal.tenant, principal.key, id] : [principal.tenant, id]
  // An object, so that no text that a client chooses makes it the key of another session.
  if (branch !== 'main') owner.push({ branch })
  return hash('sha256', JSON.stringify(owner), 'hex').slice(0, 32)
}
