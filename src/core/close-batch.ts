import type { Message, ToolCall, ToolMessage } from './chat.ts'
import { notAnswered } from './not-answered.ts'

/**
 * The messages with a result for every call of their last batch, in the order of the calls: the one that stands there,
 * else the one `given`, else `(not answered)` (contract §4.5).
 */
export function closeBatch(
  messages: readonly Message[],
  given: (call: ToolCall) => ToolMessage | undefined = () => undefined
): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const batch = messages[at]
  if (batch?.role !== 'assistant' || batch.calls.length === 0) return messages
  const there = new Map(messages.slice(at + 1).flatMap(each => (each.role === 'tool' ? [[each.callId, each]] : [])))
  const results = batch.calls.map(call => there.get(call.id) ?? given(call) ?? notAnswered(call))
  return [...messages.slice(0, at + 1), ...results]
}
