import type { Answer, Fields } from '../core/chat.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import { givenAgain } from './turn-outcome.ts'
import { figuresOf, reportOf } from './turn-report.ts'

/** What goes out beside an answer. */
export interface Given {
  /** Headers of a JSON answer. */
  readonly figures: Readonly<Record<string, string>>
  /** The `loopgate` object. */
  readonly report?: Fields | undefined
}

/** Of an answer that is given again, what went out with it then. */
export function given(prepared: PreparedTurn, answer: Answer): Given {
  if (prepared.again !== undefined) return givenAgain(prepared.again)
  return { figures: figuresOf(prepared.record, answer), report: reportOf(prepared, answer) }
}
