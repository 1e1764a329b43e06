import type { Message, ToolMessage } from '../core/chat.ts'

/** What a journal has of a turn, as a conversation: results came as their calls ended, and stand in the calls' order. */
export function journalMessages(written: readonly Message[]): readonly Message[] {
  const results = new Map<string, ToolMessage>()
  for (const message of written) if (message.role === 'tool') results.set(message.callId, message)
  return written.flatMap((message): readonly Message[] => {
    if (message.role === 'tool') return []
    if (message.role !== 'assistant') return [message]
    return [message, ...message.calls.flatMap(({ id }) => results.get(id) ?? [])]
  })
}
