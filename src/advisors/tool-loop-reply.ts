import { replayableArguments } from '../core/arguments.ts'
import type { Answer, AssistantMessage, Message } from '../core/chat.ts'
import type { CallIds } from './tool-loop-call-ids.ts'

/**
 * A reply with calls as the conversation keeps it: call ids unique over all that is replayed, since strict providers
 * count calls and results. `asWritten` has the arguments as the model wrote them, for running; `asReplayed` what the
 * model is shown of them, and what is remembered (contract §4.2).
 */
export function kept(
  reply: Answer,
  ids: CallIds
): { readonly asWritten: readonly Message[]; readonly asReplayed: readonly Message[] } {
  const written = { ...reply.message, calls: ids.given(reply.message.calls) }
  const replayed = withValidArguments(written)
  const before = reply.messages.slice(0, -1)
  return { asWritten: [...before, written], asReplayed: [...before, replayed] }
}

function withValidArguments(message: AssistantMessage): AssistantMessage {
  const calls = message.calls.map(call => ({ ...call, arguments: replayableArguments(call.arguments) }))
  return { ...message, calls }
}
