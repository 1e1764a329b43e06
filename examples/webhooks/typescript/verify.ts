import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const TOLERANCE_S = 300

/**
 * Standard Webhooks 1.0 with node:crypto: was this request signed with our secret, and lately? `secret` is `whsec_…`,
 * as registering the tool showed it.
 */
export function isSigned(headers: IncomingHttpHeaders, body: Buffer, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  const expected = Buffer.from(`v1,${digest}`)
  // There are two signatures while the secret is being changed.
  return String(signatures)
    .split(' ')
    .map(each => Buffer.from(each))
    .some(given => given.length === expected.length && timingSafeEqual(given, expected))
}
