import type { Message } from '../core/chat.ts'
import { ownFrom } from '../core/own-from.ts'
import type { Turn } from '../core/turn.ts'

/** The messages of a request, sorted by what they are to memory. */
export interface RememberedRequest {
  /** System messages that stood before the first assistant message. */
  readonly head: readonly Message[]
  /** From before the turn, without `head`: the client's own history, if it brought any. */
  readonly before: readonly Message[]
  /** The turn so far: its question, and what has come of it. */
  readonly own: readonly Message[]
}

/** Does the request carry an assistant message from before its turn? Then nothing is recalled (contract §4.9). */
export function bringsHistory({ prompt, question }: Turn): boolean {
  for (const message of prompt.messages) {
    if (message.id === question) return false
    if (message.role === 'assistant') return true
  }
  return false
}

/** A turn that goes on stands in the request as it was stored: the edge has put it there. */
export function readRequest({ prompt, question }: Turn): RememberedRequest {
  const { messages } = prompt
  const firstAnswer = messages.findIndex(({ role }) => role === 'assistant')
  const isHead = (message: Message, at: number) => message.role === 'system' && (firstAnswer === -1 || at < firstAnswer)
  const head = messages.filter(isHead)
  const rest = messages.filter((message, at) => !isHead(message, at))
  const from = ownFrom(rest, question)
  return { head, before: rest.slice(0, from), own: rest.slice(from) }
}
