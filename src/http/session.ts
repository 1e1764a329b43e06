import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import type { Principal, Session } from '../core/principal.ts'
import { sessionKey } from './session-key.ts'
import type { TurnOptions } from './turn-options.ts'

const FORM = /^[A-Za-z0-9._:-]{1,128}$/

/**
 * The session a request belongs to (contract §3.1): the first id found among header, body (`inBody`, in the dialect's
 * order) and extra headers; without one a fresh one, which costs nothing until something outlives the turn.
 * Throws `session_id_invalid` for an id that is not 1 to 128 of `A-Z a-z 0-9 . _ : -`.
 */
export function sessionOf(
  headers: IncomingHttpHeaders,
  inBody: readonly unknown[],
  principal: Principal,
  config: Config['session']
): Session {
  const found = firstId(headers, inBody, config.extra_headers)
  const id = found === undefined ? `sess_${ulid()}` : checked(found)
  let key: string | undefined
  return {
    id,
    // Most turns without a session never ask for it.
    get key() {
      key ??= sessionKey(principal, id, config.scope)
      return key
    },
    named: found !== undefined,
    since: performance.now(),
    branch: 'main'
  }
}

function firstId(headers: IncomingHttpHeaders, inBody: readonly unknown[], extra: readonly string[]): unknown {
  if (headers['x-session-id'] !== undefined) return headers['x-session-id']
  for (const id of inBody) if (id !== undefined) return id
  for (const name of extra) {
    const id = headers[name.toLowerCase()]
    if (id !== undefined) return id
  }
  return undefined
}

function checked(id: unknown): string {
  if (typeof id === 'string' && FORM.test(id)) return id
  throw new GatewayError('session_id_invalid', 'A session id is 1 to 128 characters of A-Z a-z 0-9 . _ : -.', {
    param: 'session_id'
  })
}

/**
 * Refuses a request without a session id where whoever switched memory or tool search on must say which session it is
 * (the table of contract §3.1). What `auto` switches on is no reason.
 */
export function requireSession(
  session: Session,
  options: TurnOptions,
  config: Pick<Config, 'session' | 'memory' | 'tool_search'>
): void {
  const { required } = config.session
  if (session.named || required === false) return
  const memory = (options.memory.mode ?? config.memory.mode) === 'on'
  const search = (options.toolSearch.mode ?? config.tool_search.mode) === 'on'
  if (required !== true && !memory && !search) return
  const why = memory ? 'memory is on' : search ? 'tool search is on' : 'this gateway asks for one'
  throw new GatewayError(
    'session_required',
    `Name the session (header x-session-id or field session_id), since ${why}.`,
    { param: 'session_id' }
  )
}
