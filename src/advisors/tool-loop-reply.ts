import { replayableArguments } from '../core/arguments.ts'
import type { Answer, AssistantMessage, Message, ToolCall } from '../core/chat.ts'
import { randomText } from '../core/ids.ts'

/**
 * A reply with calls as the conversation keeps it: call ids unique over all that is replayed, since strict providers
 * count calls and results. `asWritten` has the arguments as the model wrote them, for running; `asReplayed` what the
 * model is shown of them, and what is remembered (contract §4.2).
 */
export function kept(
  reply: Answer,
  history: readonly Message[]
): { readonly asWritten: readonly Message[]; readonly asReplayed: readonly Message[] } {
  const written = { ...reply.message, calls: withUniqueIds(reply.message.calls, history) }
  const replayed = withValidArguments(written)
  const before = reply.messages.slice(0, -1)
  return { asWritten: [...before, written], asReplayed: [...before, replayed] }
}

function withUniqueIds(calls: readonly ToolCall[], history: readonly Message[]): readonly ToolCall[] {
  const taken = new Set<string>()
  for (const message of history) if (message.role === 'assistant') for (const { id } of message.calls) taken.add(id)
  return calls.map(call => {
    const id = call.id !== '' && !taken.has(call.id) ? call.id : `call_${randomText(26)}`
    taken.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

function withValidArguments(message: AssistantMessage): AssistantMessage {
  const calls = message.calls.map(call => ({ ...call, arguments: replayableArguments(call.arguments) }))
  return { ...message, calls }
}
