import type { Message, SystemMessage } from '../core/chat.ts'
import { isSummary } from './memory-summary.ts'

/**
 * Appends the text to the first system message as it is; without one it becomes a system message of its own. A summary
 * of earlier turns is none to append to.
 */
export function withSuffix(messages: readonly Message[], suffix: string): readonly Message[] {
  if (suffix === '') return messages
  const at = messages.findIndex(message => message.role === 'system' && !isSummary(message))
  const first = messages[at]
  if (first?.role !== 'system') return [{ role: 'system', id: 'msg_tool_search', content: suffix }, ...messages]
  return messages.with(at, appended(first, suffix))
}

function appended(message: SystemMessage, text: string): SystemMessage {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: content + text }
  return { ...message, content: [...content, { type: 'text', text }] }
}
