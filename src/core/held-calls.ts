import type { Message, Tool, ToolCall, ToolMessage } from './chat.ts'
import { lastAnswer } from './conversation.ts'
import { effectOf } from './effect-of.ts'
import type { Turn } from './turn.ts'

/**
 * A call of a batch that the client has to go on with (contract §4.5, §4.7). The store has a row for each, in the shape
 * of spec/state.md §1.
 */
export interface HeldCall {
  /** `tc_` + turn + round + index, also its webhook's id: the same place never has two. */
  readonly id: string
  readonly round: number
  /** Position in its batch, from 0. */
  readonly index: number
  /** As model and client know it. */
  readonly callId: string
  readonly tool: string
  /** Version of the tool that was offered; 0: it has none. */
  readonly toolVersion: number
  /** Whose tool it is; `nobody`: none of that name was offered. */
  readonly runner: 'gateway' | 'client' | 'nobody'
  /** What running it twice would do. */
  readonly effect: 'read' | 'idempotent' | 'write'
  /** As the model wrote them, for running: they may not parse. */
  readonly arguments: string
  /** `dispatched`: is being run. `unknown`: was, when the process ended. */
  readonly state: 'requested' | 'dispatched' | 'succeeded' | 'failed' | 'unknown'
  /** Once it has ended. */
  readonly result?: ToolMessage
}

/**
 * The calls of the turn's last batch; those that ran have a result. `batch`: the last message with its calls as the
 * model wrote them.
 */
export function heldCalls(turn: Turn, batch: readonly Message[], results: readonly ToolMessage[]): readonly HeldCall[] {
  const settled = new Map(results.map(result => [result.callId, result]))
  const calls = lastAnswer(batch)?.calls ?? []
  return calls.map((call, index) => held(turn, index, call, settled.get(call.id)))
}

/** The id of the call that stands in this place. */
export function heldCallId(turnId: string, round: number, index: number): string {
  return `tc_${turnId.slice(turnId.indexOf('_') + 1)}r${round}i${index}`
}

function held(turn: Turn, index: number, call: ToolCall, result: ToolMessage | undefined): HeldCall {
  const tool = turn.prompt.tools.get(call.name)
  return {
    id: heldCallId(turn.id, turn.round, index),
    round: turn.round,
    index,
    callId: call.id,
    tool: call.name,
    toolVersion: tool?.version ?? 0,
    runner: runnerOf(tool),
    effect: effectOf(tool),
    arguments: call.arguments,
    state: result === undefined ? 'requested' : result.isError ? 'failed' : 'succeeded',
    ...(result && { result })
  }
}

function runnerOf(tool: Tool | undefined): HeldCall['runner'] {
  if (tool === undefined) return 'nobody'
  return tool.run === undefined ? 'client' : 'gateway'
}
