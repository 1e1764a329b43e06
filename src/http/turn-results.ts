import { openCalls } from '../core/conversation.ts'
import { GatewayError } from '../core/errors.ts'
import type { Session } from '../core/principal.ts'
import type { SessionStore } from '../stores/contracts.ts'

/**
 * Checks results whose calls do not stand in the request: they must be open in the session's turn that waits for its
 * client (contract §2.3). Throws `invalid_request` naming the message.
 */
export async function checkResults(
  unmatched: readonly { readonly index: number; readonly callId: string }[],
  session: Session,
  sessions: Pick<SessionStore, 'turns'>
): Promise<void> {
  const waiting = session.named ? await sessions.turns(session.key, ['awaiting_client'], 1) : []
  const open = new Set(openCalls(waiting.at(-1)?.messages ?? []).map(({ id }) => id))
  const orphan = unmatched.find(({ callId }) => !open.has(callId))
  if (orphan === undefined) return
  const { index, callId } = orphan
  throw new GatewayError(
    'invalid_request',
    `messages[${index}] has the tool_call_id ${callId}, which is no unanswered call earlier in the request or open in the session.`,
    { param: `messages[${index}].tool_call_id` }
  )
}
