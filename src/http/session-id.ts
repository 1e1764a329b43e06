import { GatewayError } from '../core/errors.ts'

const FORM = /^[A-Za-z0-9._:-]{1,128}$/

/** A client's name for a session, as it is. Throws `session_id_invalid` where it has another form (contract §3.1). */
export function sessionIdOf(id: unknown): string {
  if (typeof id === 'string' && FORM.test(id)) return id
  throw new GatewayError('session_id_invalid', 'A session id is 1 to 128 characters of A-Z a-z 0-9 . _ : -.', {
    param: 'session_id'
  })
}
