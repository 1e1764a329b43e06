import { openCalls } from '../core/conversation.ts'
import { GatewayError } from '../core/errors.ts'
import type { Session } from '../core/principal.ts'
import type { SessionStore } from '../stores/contracts.ts'

/** Turns of a session that wait for their client; a new question ends the wait, so there is one as a rule. */
const MAX_WAITING = 16

/**
 * Checks results whose calls do not stand in the request: they must be open in a turn of the session that waits for
 * its client (contract §2.3); memory puts the calls in front of them. `sessions` is absent where nothing is remembered.
 * Throws `invalid_request` naming the message.
 */
export async function checkResults(
  unmatched: readonly { readonly index: number; readonly callId: string }[],
  session: Session,
  sessions: Pick<SessionStore, 'turns'> | undefined
): Promise<void> {
  const waiting = await sessions?.turns(session.key, ['awaiting_client'], MAX_WAITING)
  const open = new Set(waiting?.flatMap(({ messages }) => openCalls(messages)).map(({ id }) => id))
  const orphan = unmatched.find(({ callId }) => !open.has(callId))
  if (orphan === undefined) return
  const { index, callId } = orphan
  throw new GatewayError(
    'invalid_request',
    `messages[${index}] has the tool_call_id ${callId}, which is no unanswered call earlier in the request or open in the session.`,
    { param: `messages[${index}].tool_call_id` }
  )
}
