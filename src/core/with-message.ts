import type { Answer, AssistantMessage } from './chat.ts'

/** The answer with another message in place of its own; what it added to the conversation keeps the gateway's calls. */
export function withMessage(answer: Answer, message: AssistantMessage): Answer {
  const put = (each: Answer['messages'][number]) => {
    if (each.id !== message.id || each.role !== 'assistant') return each
    return answer.held ? { ...message, calls: each.calls } : message
  }
  return { ...answer, message, messages: answer.messages.map(put) }
}
