import type { ToolMessage } from './chat.ts'
import { newMessageId } from './ids.ts'

/** The result of a call that was sent and never heard of again: it is not sent a second time (spec/state.md §2.2). */
export function unknownOutcome(callId: string, tool: string): ToolMessage {
  const content = `The call of ${tool} was sent, and its outcome is not known. Check before you make it again.`
  return { role: 'tool', id: newMessageId(), callId, content, isError: true }
}
