import type { Message } from './chat.ts'

/** Where the turn with this question begins: at the question, with the user and system messages right before it. */
export function ownFrom(messages: readonly Message[], question: string): number {
  const at = messages.findLastIndex(({ id }) => id === question)
  // The message was a system message that went elsewhere, or an advisor took it out.
  return runOfUsers(messages, at === -1 ? lastUser(messages, messages.length) : at)
}

/** The last user message before the place; 0 when there is none. */
export function lastUser(messages: readonly Message[], before: number): number {
  for (let at = before - 1; at >= 0; at--) if (messages[at]?.role === 'user') return at
  return 0
}

/** Where the run of user and system messages begins that ends before `from`. */
export function runOfUsers(messages: readonly Message[], from: number): number {
  let at = from
  while (at > 0 && (messages[at - 1]?.role === 'user' || messages[at - 1]?.role === 'system')) at--
  return at
}
