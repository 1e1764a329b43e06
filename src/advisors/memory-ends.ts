import type { Message } from '../core/chat.ts'

/** The questions of a turn and its answer, without the calls it may have made. */
export function ends(turn: readonly Message[], answerId: string | undefined): readonly Message[] {
  return turn.flatMap((message): readonly Message[] => {
    if (message.role === 'user') return [message]
    return message.role === 'assistant' && message.id === answerId ? [{ ...message, calls: [] }] : []
  })
}
