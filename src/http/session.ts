import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import type { Principal, Session } from '../core/principal.ts'
import { sessionIdOf } from './session-id.ts'
import { sessionKey } from './session-key.ts'
import type { TurnOptions } from './turn-options.ts'

/**
 * The session a request belongs to (contract §3.1): the first id found among header, body (`inBody`, in the dialect's
 * order) and extra headers; without one a fresh one, which costs nothing until something outlives the turn.
 * Throws `session_id_invalid` for an id that is not 1 to 128 of `A-Z a-z 0-9 . _ : -`. `branch`: the one that the
 * request is on.
 */
export function sessionOf(
  headers: IncomingHttpHeaders,
  inBody: readonly unknown[],
  principal: Principal,
  config: Config['session'],
  branch = 'main'
): Session {
  const found = firstId(headers, inBody, config.extra_headers)
  const id = found === undefined ? `sess_${ulid()}` : sessionIdOf(found)
  let key: string | undefined
  return {
    id,
    // Most turns without a session never ask for it.
    get key() {
      key ??= sessionKey(principal, id, config.scope, branch)
      return key
    },
    named: found !== undefined,
    since: performance.now(),
    branch,
    ...(branch !== 'main' && { root: sessionKey(principal, id, config.scope) })
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
  const reasons = [
    [options.memory.branch !== undefined, 'a branch of it is named'],
    [(options.memory.mode ?? config.memory.mode) === 'on', 'memory is on'],
    [(options.toolSearch.mode ?? config.tool_search.mode) === 'on', 'tool search is on'],
    [required === true, 'this gateway asks for one']
  ] as const
  const why = reasons.find(([holds]) => holds)?.[1]
  if (why === undefined) return
  throw new GatewayError(
    'session_required',
    `Name the session (header x-session-id or field session_id), since ${why}.`,
    { param: 'session_id' }
  )
}
