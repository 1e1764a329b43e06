import type { Message } from './chat.ts'
import { randomText } from './ids.ts'

/** A message of words, with an id of its own: for an advisor that has something to say to a model. */
export function newMessage(role: 'system' | 'user' | 'assistant', text: string): Message {
  const id = `msg_${randomText(16)}`
  return role === 'assistant' ? { role, id, content: text, calls: [] } : { role, id, content: text }
}
