import type { Answer, Usage } from './chat.ts'
import { addUsage } from './usage.ts'

/** The answer with what other answers used added to its own usage: whoever asks twice has paid twice. */
export function withUsageOf(answer: Answer, ...others: readonly { readonly usage?: Usage | undefined }[]): Answer {
  const usage = others.reduce((sum, { usage }) => addUsage(sum, usage), answer.usage)
  return usage === answer.usage ? answer : { ...answer, ...(usage && { usage }) }
}
