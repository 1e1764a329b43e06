import type { ToolCall, ToolMessage } from './chat.ts'
import { newMessageId } from './ids.ts'

/** What stands in place of a result that never came (contract §4.5). */
export const NOT_ANSWERED = '(not answered)'

/** The result of a call that nobody ran, or that was cut off, so that no call stands without one (contract §4.5). */
export function notAnswered({ id: callId }: ToolCall): ToolMessage {
  return { role: 'tool', id: newMessageId(), callId, content: NOT_ANSWERED, isError: true, unrun: {} }
}
