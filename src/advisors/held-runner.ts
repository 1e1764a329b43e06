import type { ToolMessage } from '../core/chat.ts'
import { type Advisor, advised, type Guard, guarded, type Model, revise, type Turn } from '../core/turn.ts'
import { runBatch, runOffered } from './tool-loop-run.ts'

/** Runs the calls in these places of the turn's last batch. Results in the order of the calls. */
export type RunHeld = (turn: Turn, places: ReadonlySet<number>) => Promise<readonly ToolMessage[]>

export interface HeldRunnerOptions {
  /** Around each call, first = outermost. */
  readonly guards: readonly Guard[]
  /** What decides which tools of the turn's are offered, the search tool among them. Absent: all are. */
  readonly offering?: Advisor | undefined
}

/**
 * The running of calls that a client has asked for (contract §4.7): through the same guards as in the loop, by tools
 * that the turn's round would be offered now.
 */
export function heldRunner({ guards, offering }: HeldRunnerOptions): RunHeld {
  const run = guarded(runOffered, ...guards)
  const offered = advised(withoutModel, ...(offering ? [offering] : []))
  return async (turn, places) => {
    const { offered: tools } = await offered(turn)
    const batch = await runBatch(revise(turn, { tools }), run, index => places.has(index))
    return batch.map(({ message }) => message)
  }
}

/** Nobody is asked: only what would be shown is wanted. */
const withoutModel: Model = async ({ prompt }) => {
  const message = { role: 'assistant', id: '', content: '', calls: [] } as const
  return { message, messages: [message], finish: 'stop', offered: prompt.tools }
}
