import type { Principal } from './principal.ts'

/** Whose the sessions of a principal are: its tenant's, and among the tenant's keys its own. */
export function ownerOf({ tenant, key }: Principal): { readonly tenant: string; readonly keyId: string } {
  return { tenant, keyId: key }
}
