/** Access: who asks, from what key. Fixed here; nothing downstream widens it. */
import { hash, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { everyRole } from './roles.ts'

export interface Principals {
  /**
   * Whose key this is. No key: `dev` in development mode, `anonymous` under mode `none`.
   * Throws `invalid_api_key` (401) for a key that is missing or wrong.
   */
  of(key: string | undefined): Principal
}

export interface PrincipalsOptions {
  readonly mode: 'auto' | 'keys' | 'none'
  /** As decided at the start: nobody has a key and everybody is `dev`. */
  readonly development: boolean
  /** Has every role, in tenant `default`. */
  readonly adminKey?: string | undefined
  /** As in the file; each has a key or its SHA-256 in hexadecimal digits. */
  readonly keys: readonly KeyEntry[]
}

export interface KeyEntry {
  readonly id: string
  readonly key?: string | undefined
  readonly key_sha256?: string | undefined
  readonly tenant: string
  readonly roles: readonly string[]
  readonly models: readonly string[]
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] }
}

interface Entry {
  readonly digest: Buffer
  readonly principal: Principal
}

/** Longer ones cannot be keys and are not hashed. */
const MAX_KEY_LENGTH = 512

const everything = { tenant: 'default', models: ['*'], tools: { allow: ['*'], deny: [] } }
const dev: Principal = { ...everything, key: 'dev', roles: everyRole }
const admin: Principal = { ...everything, key: 'admin', roles: everyRole }
const anonymous: Principal = { ...everything, key: 'anonymous', roles: new Set(['chat']) }

/** Only hashes of keys are held. */
export function principals({ mode, development, adminKey, keys }: PrincipalsOptions): Principals {
  if (development) return { of: () => dev }
  const entries = new Map<string, Entry>()
  for (const { id, key, key_sha256, tenant, roles, models, tools } of keys) {
    const digest = key === undefined ? Buffer.from(key_sha256 ?? '', 'hex') : sha256(key)
    entries.set(digest.toString('latin1'), {
      digest,
      principal: { key: id, tenant, roles: new Set(roles), models, tools }
    })
  }
  if (adminKey !== undefined) {
    const digest = sha256(adminKey)
    entries.set(digest.toString('latin1'), { digest, principal: admin })
  }
  // SDKs insist on sending a key; where none exists, none can be wrong.
  const anyIsNone = entries.size === 0

  return {
    of(key) {
      if (mode === 'none' && (key === undefined || anyIsNone)) return anonymous
      if (key === undefined) {
        throw new GatewayError('invalid_api_key', 'Send an API key as "Authorization: Bearer <key>" or as "x-api-key".')
      }
      const found = key.length <= MAX_KEY_LENGTH ? lookUp(entries, key) : undefined
      if (found) return found
      throw new GatewayError('invalid_api_key', 'This API key is not known here.')
    }
  }
}

function lookUp(entries: ReadonlyMap<string, Entry>, key: string): Principal | undefined {
  const digest = sha256(key)
  // What the map compares in varying time are hashes, which tell nothing of a key; the last word is in constant time.
  const entry = entries.get(digest.toString('latin1'))
  return entry && timingSafeEqual(entry.digest, digest) ? entry.principal : undefined
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
