import type { AssistantMessage, Message, ToolCall } from './chat.ts'
import type { Turn } from './turn.ts'

/**
 * The messages after the turn's question: its rounds so far. All of them where the question is not found: limits are
 * counted by these, and then rather hold too early than never.
 */
export function messagesOfTurn(turn: Turn): readonly Message[] {
  const { messages } = turn.prompt
  return messages.slice(messages.findLastIndex(message => message.id === turn.question) + 1)
}

/** Every call the model made in this turn, in order, whether it ran or was refused (contract §4.3). */
export function callsOfTurn(turn: Turn): readonly ToolCall[] {
  return messagesOfTurn(turn).flatMap(message => (message.role === 'assistant' ? message.calls : []))
}

/** Model calls the turn has seen so far, those included whose answers were dropped. */
export function roundsOfTurn(turn: Turn): number {
  const dropped = turn.spent?.rounds ?? 0
  return messagesOfTurn(turn).reduce((rounds, message) => rounds + (message.role === 'assistant' ? 1 : 0), dropped)
}

/** The calls of the last assistant message that have no result yet, in order. */
export function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  const answered = new Set<string>()
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Message
    if (message.role === 'assistant') return message.calls.filter(call => !answered.has(call.id))
    if (message.role !== 'tool') return []
    answered.add(message.callId)
  }
  return []
}

/** The last assistant message, if there is one. */
export function lastAnswer(messages: readonly Message[]): AssistantMessage | undefined {
  return messages.findLast(message => message.role === 'assistant')
}

/** Where a call stands: its round, and its position in its batch from 0. The same place never gets two webhook ids. */
export function placeOf(call: ToolCall, turn: Turn): { readonly round: number; readonly index: number } {
  const batch = lastAnswer(turn.prompt.messages)?.calls ?? []
  return { round: turn.round, index: batch.findIndex(({ id }) => id === call.id) }
}
