import type { Answer, AssistantMessage } from './chat.ts'
import { textOf } from './text.ts'

/** The answer with another message in place of its own; what it added to the conversation keeps the gateway's calls. */
export function withMessage(answer: Answer, message: AssistantMessage): Answer {
  const put = (each: Answer['messages'][number]) => {
    if (each.id !== message.id || each.role !== 'assistant') return each
    return answer.held ? { ...message, calls: each.calls } : message
  }
  const { structured, ...rest } = answer
  // A verdict holds for the text that it was given for.
  const isAsJudged = structured && textOf(message.content) === textOf(answer.message.content)
  return { ...rest, ...(isAsJudged && { structured }), message, messages: answer.messages.map(put) }
}
