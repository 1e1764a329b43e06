import type { AssistantMessage, SystemMessage, UserMessage } from './chat.ts'
import { newMessageId } from './ids.ts'

interface Roles {
  readonly system: SystemMessage
  readonly user: UserMessage
  readonly assistant: AssistantMessage
}

/** A message of words, with an id of its own: for an advisor that has something to say to a model. */
export function newMessage<R extends keyof Roles>(role: R, text: string): Roles[R]
export function newMessage(role: keyof Roles, text: string): Roles[keyof Roles] {
  const id = newMessageId()
  return role === 'assistant' ? { role, id, content: text, calls: [] } : { role, id, content: text }
}
