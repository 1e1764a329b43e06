import type { Message } from '../core/chat.ts'

/**
 * History a client brought is not trusted (contract §4.1): calls of gateway tools that have no result in it are
 * dropped, so that nothing runs that no model asked for. A message that held nothing else goes with them.
 */
export function withoutOpenCalls(
  messages: readonly Message[],
  isGateways: (toolName: string) => boolean
): readonly Message[] {
  if (!messages.some(message => message.role === 'assistant' && message.calls.some(call => isGateways(call.name)))) {
    return messages
  }
  const kept: Message[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant' || message.calls.length === 0) {
      kept.push(message)
      continue
    }
    const answered = resultsAfter(messages, at)
    const calls = message.calls.filter(call => answered.has(call.id) || !isGateways(call.name))
    if (calls.length > 0 || message.content.length > 0) kept.push({ ...message, calls })
  }
  return kept
}

/** Ids of the results that follow a message before the model speaks again. */
function resultsAfter(messages: readonly Message[], at: number): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const message of messages.slice(at + 1)) {
    if (message.role === 'assistant') break
    if (message.role === 'tool') ids.add(message.callId)
  }
  return ids
}
