import type { RunCalls } from '../core/run-calls.ts'
import { extend, type Guard, guarded, revise } from '../core/turn.ts'
import { CallIds } from './tool-loop-call-ids.ts'
import { kept } from './tool-loop-reply.ts'
import { runBatch, runOffered } from './tool-loop-run.ts'

/** The running of one batch of calls, for loops that are not ours: guards, parallelism and records as in our own. */
export function callRunner(guards: readonly Guard[]): RunCalls {
  const run = guarded(runOffered, ...guards)
  return async (answer, turn) => {
    const { asWritten, asReplayed } = kept(answer, new CallIds(turn.prompt.messages, false))
    for (const message of asReplayed) turn.keep?.(message)
    const batch = await runBatch(revise(extend(turn, asWritten), { tools: answer.offered }), run)
    const messages = [...asReplayed, ...batch.map(({ message }) => message)]
    return { turn: extend(turn, messages), messages, results: batch.map(({ call, result }) => ({ call, result })) }
  }
}
