import type { Config } from '../config/schema.ts'
import type { Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal, Session } from '../core/principal.ts'
import type { CallStore, WaitingTurn } from '../stores/contracts.ts'
import { sessionKey } from './session-key.ts'
import { answerable } from './turn-join.ts'
import { waitingSession } from './waiting-session.ts'

export interface Waiting {
  /** The request's session; of one that names none, that of the turn its call ids belong to. */
  readonly session: Session
  /** Oldest first. */
  readonly turns: readonly WaitingTurn[]
}

interface Asked {
  readonly session: Session
  readonly principal: Principal
  readonly messages: readonly Message[]
  readonly scope: Config['session']['scope']
}

/** Ids that the gateway has minted: nobody can guess one, and none is there twice. */
const MINTED = /^call_[0-9A-HJKMNP-TV-Z]{26}$/

/** The turns that wait for the client of a request: by session, or by call id where it names none (contract §4.5). */
export async function waitingTurns(calls: CallStore, { session, principal, messages, scope }: Asked): Promise<Waiting> {
  if (session.named) return { session, turns: await calls.waiting(session.key) }
  for (const id of lastCallIds(messages)) {
    const turn = await calls.ofCall(id)
    if (turn === undefined || !isOwn(turn, principal, scope)) continue
    const { named, since } = session
    return { session: waitingSession(turn, { named, since, principal, scope }), turns: [turn] }
  }
  return { session, turns: [] }
}

/** May the principal name the turn's session? */
export function isOwn({ session }: WaitingTurn, principal: Principal, scope: Asked['scope']): boolean {
  return sessionKey(principal, session.id, scope, session.branch) === session.key
}

/**
 * Throws `invalid_request` for a request without messages that goes on with nothing, and, naming the message, for a
 * result whose call stands neither in the request nor in a turn that waits (contract §2.3).
 */
export function checkResults(
  messages: readonly Message[],
  unmatched: readonly { readonly index: number; readonly callId: string }[],
  waiting: readonly WaitingTurn[]
): void {
  if (messages.length === 0 && waiting.length === 0) {
    throw new GatewayError('invalid_request', 'messages must hold at least one message.', { param: 'messages' })
  }
  const open = new Set(waiting.flatMap(answerable).map(({ id }) => id))
  const orphan = unmatched.find(({ callId }) => !open.has(callId))
  if (orphan === undefined) return
  const { index, callId } = orphan
  throw new GatewayError(
    'invalid_request',
    `messages[${index}] has the tool_call_id ${callId}, which is no unanswered call earlier in the request or open in the session.`,
    { param: `messages[${index}].tool_call_id` }
  )
}

/** Of the last message with calls and what stands behind it. */
function lastCallIds(messages: readonly Message[]): readonly string[] {
  const at = messages.findLastIndex(message => message.role === 'assistant' && message.calls.length > 0)
  const ids = messages.slice(Math.max(at, 0)).flatMap(message => {
    if (message.role === 'assistant') return message.calls.map(({ id }) => id)
    return message.role === 'tool' ? [message.callId] : []
  })
  return [...new Set(ids)].filter(id => MINTED.test(id))
}
