import type { Message } from './chat.ts'

/** What a turn begins with: the last user message; without one the last system message, or the first of all. */
export function questionOf(messages: readonly Message[]): Message | undefined {
  const last = (role: Message['role']) => messages.findLast(message => message.role === role)
  return last('user') ?? last('system') ?? messages[0]
}
