import { hash } from 'node:crypto'
import type { Fields } from '../core/chat.ts'
import type { Principal, Session } from '../core/principal.ts'

interface Request {
  readonly route: string
  readonly body: Fields
  readonly principal: Pick<Principal, 'tenant' | 'key'>
  readonly session: Pick<Session, 'named' | 'key'>
}

/** Of the body as far as two requests may not differ in it: how the answer is to come is left out (contract §18, 4.12). */
export function bodyHashOf(body: Fields): string {
  const { stream: _, stream_options: __, ...rest } = body
  return hash('sha256', JSON.stringify(rest), 'hex')
}

/** What a request with an `Idempotency-Key` is known by. */
export function keyId({ route, principal }: Request, key: string): string {
  return hash('sha256', JSON.stringify(['key', principal.tenant, principal.key, route, key]), 'hex')
}

/** What a request is known by that has none: by all that it says. */
export function printId({ route, principal, session, body }: Request): string {
  const of = [principal.tenant, principal.key, route, session.named ? session.key : '', bodyHashOf(body)]
  return hash('sha256', JSON.stringify(['print', ...of]), 'hex')
}
