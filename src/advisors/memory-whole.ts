import { hash } from 'node:crypto'
import type { AssistantMessage, Message, ToolMessage } from '../core/chat.ts'

/**
 * The messages as any provider takes them: calls with their results right behind them, in the order of the calls, and
 * none without the other. A message that holds nothing beside calls without results is left out, unless it is the last.
 */
export function whole(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(message => message.role === 'tool' || isCalling(message))) return messages
  const kept: Message[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') continue
    if (!isCalling(message)) {
      kept.push(message)
      continue
    }
    const results = resultsAfter(messages, at)
    const calls = message.calls.filter(({ id }) => results.has(id))
    const isEmpty = calls.length === 0 && message.content.length === 0 && message.refusal === undefined
    if (isEmpty && at < messages.length - 1) continue
    kept.push(calls.length === message.calls.length ? message : { ...message, calls })
    for (const { id } of calls) kept.push(results.get(id) as ToolMessage)
  }
  return kept
}

/** Results that follow the message at `at` before anybody speaks again, by call id; of two for one call the first. */
export function resultsAfter(messages: readonly Message[], at: number): ReadonlyMap<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let next = at + 1; next < messages.length; next++) {
    const message = messages[next] as Message
    if (message.role !== 'tool') break
    if (!results.has(message.callId)) results.set(message.callId, message)
  }
  return results
}

/**
 * Recalled messages under call ids that are there once: strict providers count calls and results, and the same id may
 * have been used in turns that never saw one another. A new id depends on its message only, so that every turn sees
 * the same text. Ids in `now` keep theirs.
 */
export function withUniqueCalls(recalled: readonly Message[], now: readonly Message[]): readonly Message[] {
  const taken = new Set(now.flatMap(callIdsOf))
  let renamed = new Map<string, string>()
  return recalled.map(message => {
    if (message.role === 'tool') {
      const callId = renamed.get(message.callId)
      return callId === undefined ? message : { ...message, callId }
    }
    if (!isCalling(message)) return message
    renamed = new Map()
    for (const { id } of message.calls) {
      if (taken.has(id)) renamed.set(id, `call_${hash('sha256', `${message.id} ${id}`, 'hex').slice(0, 26)}`)
      taken.add(renamed.get(id) ?? id)
    }
    if (renamed.size === 0) return message
    return { ...message, calls: message.calls.map(call => ({ ...call, id: renamed.get(call.id) ?? call.id })) }
  })
}

function callIdsOf(message: Message): readonly string[] {
  return isCalling(message) ? message.calls.map(({ id }) => id) : []
}

function isCalling(message: Message): message is AssistantMessage {
  return message.role === 'assistant' && message.calls.length > 0
}
