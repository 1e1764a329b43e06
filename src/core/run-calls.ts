import type { Answer, Message, ToolCall } from './chat.ts'
import type { ToolResult, Turn } from './turn.ts'

/**
 * Runs the calls of an answer, each through all guards, as many at once as the turn allows. Gives the turn with the
 * answer and the results at its end, ready for the next round.
 */
export type RunCalls = (answer: Answer, turn: Turn) => Promise<CallsRun>

export interface CallsRun {
  readonly turn: Turn
  /** What was added to the turn: the answer's messages, then the results. */
  readonly messages: readonly Message[]
  /** In the order of the calls. One with a `breach` whose action is `stop` ends the turn; its content is the answer. */
  readonly results: readonly { readonly call: ToolCall; readonly result: ToolResult }[]
}
