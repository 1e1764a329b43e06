import { hash } from 'node:crypto'
import type { Fields } from '../core/chat.ts'
import type { Principal, Session } from '../core/principal.ts'

export interface RetriedRequest {
  readonly route: string
  readonly body: Fields
  readonly principal: Pick<Principal, 'tenant' | 'key'>
  readonly session: Pick<Session, 'named' | 'key'>
}

/**
 * Of all in which two requests may not differ, wherever the session was named: how the answer is to come is left out
 * (contract §18, 4.12).
 */
export function bodyHashOf({ body, session }: Pick<RetriedRequest, 'body' | 'session'>): string {
  const { stream: _, stream_options: __, ...rest } = body
  return hash('sha256', JSON.stringify([session.named ? session.key : '', rest]), 'hex')
}

/** What a request with an `Idempotency-Key` is known by. */
export function keyId({ route, principal }: RetriedRequest, key: string): string {
  return hash('sha256', JSON.stringify(['key', principal.tenant, principal.key, route, key]), 'hex')
}

/** What a request is known by that has none: by all that it says. */
export function printId(request: RetriedRequest): string {
  const { tenant, key } = request.principal
  const of = [tenant, key, request.route, bodyHashOf(request)]
  return hash('sha256', JSON.stringify(['print', ...of]), 'hex')
}
