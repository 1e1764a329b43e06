import type { Principal } from '../core/principal.ts'

/** A key sees its own turns, an auditor those of its tenant, an admin all (contract §2.6). */
export function maySee(
  { tenant, key, roles }: Principal,
  turn: { readonly tenant: string; readonly keyId: string }
): boolean {
  if (roles.has('admin')) return true
  return turn.tenant === tenant && (turn.keyId === key || roles.has('auditor'))
}
