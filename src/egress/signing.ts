import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

/** A fresh signing secret: `whsec_` and 32 random bytes in base64, as Standard Webhooks 1.0 writes it. */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

/** Is it a secret of Standard Webhooks 1.0: `whsec_` and 24 to 64 bytes in base64? */
export function isSigningSecret(secret: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return false
  const { length } = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return length >= 24 && length <= 64
}

/** Made once for each secret: signing with a ready key takes a quarter of the time (`spec/webhooks.md` §2.5). */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'))
}

export interface Signed {
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
}

/** The value of `webhook-signature`: one `v1,<base64>` for each key, the newest first. */
export function signature({ id, timestamp, body }: Signed, keys: readonly KeyObject[]): string {
  const content = `${id}.${timestamp}.${body}`
  return keys.map(key => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ')
}
