import { isDeepStrictEqual } from 'node:util'
import type { Message } from '../core/chat.ts'

export interface Returned {
  /** What was sent: each message, and the JSON value that stood for it. */
  readonly messages: readonly Message[]
  readonly sent: readonly unknown[]
  /** What came back, and what it was decoded to. */
  readonly wire: readonly unknown[]
  readonly decoded: readonly Message[]
}

/**
 * The messages that came back, as far as possible those that were sent: an unchanged one is the very same, with all
 * that its wire form has no room for, and a changed one keeps its id. By its id the question is known, and memory tells
 * old from new.
 */
export function reunited({ messages, sent, wire, decoded }: Returned): readonly Message[] {
  let from = 0
  return decoded.map((message, at) => {
    const same = sent.findIndex((each, i) => i >= from && isDeepStrictEqual(each, wire[at]))
    const unchanged = messages[same]
    if (unchanged) {
      from = same + 1
      return unchanged
    }
    const changed = messages[from]
    // What comes unchanged later was not changed here: this one was put in front of it.
    const isInserted = wire.slice(at + 1).some(later => isDeepStrictEqual(sent[from], later))
    if (changed === undefined || changed.role !== message.role || isInserted) return message
    from++
    const { origin: _, ...fresh } = message
    return { ...fresh, id: changed.id, ...(changed.origin && { origin: changed.origin }) }
  })
}

/** Ids of calls without a result after them, and of results without a call before them: providers refuse both. */
export function loose(messages: readonly Message[]): ReadonlySet<string> {
  const open = new Set<string>()
  const orphans = new Set<string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.calls) open.add(id)
    else if (message.role === 'tool' && !open.delete(message.callId)) orphans.add(message.callId)
  }
  return new Set([...open, ...orphans])
}
