import type { Message, ToolCall } from './chat.ts'
import type { ToolResult, Turn } from './turn.ts'

/** Writes down what a turn does outside, before it does it, so that nothing is done twice after a crash. */
export interface TurnJournal {
  /**
   * A call is about to leave. What is returned must be waited for: the call is on disk then. Rejects when it cannot be
   * written, or when another request has taken the turn over; then it must not leave.
   */
  dispatch(call: ToolCall, turn: Turn): Promise<void>
  /** A message of the loop. Its writing is waited for by the next call and by the end of the turn. */
  keep(message: Message): void
  /** A call that goes on when its turn is cut: what it comes to is kept, and whoever goes on with the turn waits for it. */
  late(call: ToolCall, turn: Turn, result: Promise<ToolResult>): void
}
