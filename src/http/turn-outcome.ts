import type { Answer, Fields } from '../core/chat.ts'
import { type ErrorCode, type ErrorDetail, GatewayError } from '../core/errors.ts'

/** What the client of a turn got, to be given again. */
export type TurnOutcome =
  | {
      readonly answer: Omit<Answer, 'offered' | 'held' | 'messages'>
      /** Headers of a JSON answer. */
      readonly figures: Readonly<Record<string, string>>
      /** The `loopgate` object. */
      readonly report?: Fields | undefined
    }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly detail: ErrorDetail } }

/** As text for the store. */
export function outcomeOf(
  ended:
    | {
        readonly answer: Answer
        readonly figures: Readonly<Record<string, string>>
        readonly report?: Fields | undefined
      }
    | { readonly error: GatewayError }
): string {
  if ('error' in ended) {
    const { code, message, detail } = ended.error
    const { cause: _, usage: __, ...shown } = detail
    return JSON.stringify({ error: { code, message, detail: shown } } satisfies TurnOutcome)
  }
  const { offered: _, held: __, messages: ___, ...answer } = ended.answer
  return JSON.stringify({ answer, figures: ended.figures, report: ended.report } satisfies TurnOutcome)
}

/** The stored answer as the dialect takes it, or the error thrown. */
export function givenAgain(text: string): {
  answer: Answer
  figures: Readonly<Record<string, string>>
  report?: Fields
} {
  const outcome = JSON.parse(text) as TurnOutcome
  if ('error' in outcome) {
    const { code, message, detail } = outcome.error
    throw new GatewayError(code, message, detail)
  }
  const { answer, figures, report } = outcome
  const { message } = answer
  return { answer: { ...answer, messages: [message], offered: new Map() }, figures, ...(report && { report }) }
}
