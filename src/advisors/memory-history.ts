import type { Content, Message } from '../core/chat.ts'
import { ulid } from '../core/ids.ts'
import { textOf } from '../core/text.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import { whole } from './memory-whole.ts'

/**
 * The part of a history that the client brought which the session does not have yet, as turns to be stored: messages
 * that no stored one equals by role, content and calls, in order. All are marked `origin: client`.
 */
export function unheardTurns(
  before: readonly Message[],
  known: readonly StoredTurn[],
  createdAt: number
): readonly StoredTurn[] {
  const isKnown = matcher(known)
  let current: Message[] = []
  const turns = [current]
  let previous: Message['role'] | undefined
  let isResultWanted = false
  for (const message of before) {
    if (message.role === 'system') continue
    if (message.role === 'user' && previous !== 'user') {
      current = []
      turns.push(current)
    }
    previous = message.role
    // Results go with their calls, which are known or not.
    const isWanted: boolean = message.role === 'tool' ? isResultWanted : !isKnown(message)
    if (message.role !== 'tool') isResultWanted = isWanted
    if (isWanted) current.push({ ...message, origin: 'client' })
  }
  return turns.flatMap(messages => asTurn(whole(messages), createdAt))
}

function asTurn(messages: readonly Message[], createdAt: number): readonly StoredTurn[] {
  if (messages.length === 0) return []
  const answer = messages.findLast(message => message.role === 'assistant' && message.calls.length === 0)
  const base = { id: `turn_${ulid(createdAt)}`, messages, createdAt }
  return [answer ? { ...base, status: 'completed', answerId: answer.id } : { ...base, status: 'superseded' }]
}

interface Place {
  readonly at: number
  /** The text of the answer to this question. */
  readonly answer?: string
}

/** Says of one message after the other whether the store has it, at or behind the place of the one before. */
function matcher(known: readonly StoredTurn[]): (message: Message) => boolean {
  const places = placesOf(known)
  let from = 0
  let answer: string | undefined
  return message => {
    const found = places.get(markOf(message))?.find(({ at }) => at >= from)
    if (found) {
      from = found.at + 1
      answer = message.role === 'user' ? found.answer : undefined
      return true
    }
    // A client that streamed has the texts of all rounds in front of the answer; what is kept is the answer.
    const isStreamed = message.role === 'assistant' && answer && textOf(message.content).endsWith(answer)
    answer = undefined
    return isStreamed === true
  }
}

function placesOf(known: readonly StoredTurn[]): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Place[]>()
  let at = 0
  for (const { messages, answerId } of known) {
    const last = messages.find(({ id }) => id === answerId)
    const answer = last && textOf(last.content)
    for (const message of messages) {
      const mark = markOf(message)
      const same = places.get(mark)
      const place = { at: at++, ...(answer && { answer }) }
      if (same) same.push(place)
      else places.set(mark, [place])
    }
  }
  return places
}

function markOf(message: Message): string {
  const calls = message.role === 'assistant' ? message.calls.map(({ name, arguments: text }) => [name, text]) : []
  return JSON.stringify([message.role, plain(message.content), calls])
}

/** Text is the same text whether it was sent as a string or as parts. */
function plain(content: Content): unknown {
  if (typeof content === 'string') return content
  return content.every(part => part.type === 'text') ? textOf(content) : content
}
