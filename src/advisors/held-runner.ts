import type { Tool } from '../core/chat.ts'
import type { HeldCall } from '../core/held-calls.ts'
import { type Advisor, advised, type Guard, guarded, type Model, type Run, revise, type Turn } from '../core/turn.ts'
import { failureOf } from './tool-loop-failed.ts'
import { endOf } from './tool-loop-limits.ts'
import { refuseBatch, runBatch, runOffered } from './tool-loop-run.ts'

/**
 * Runs the calls in these places of the turn's last batch; `batch`: all its calls. `turn.prompt.tools`: the tools of
 * its request, as they are now; its `spent`: what it has used. What the calls came to is told by `turn.keep`. Rejects
 * with `tool_failed` where a result fails the turn.
 */
export type RunHeld = (turn: Turn, batch: readonly HeldCall[], places: ReadonlySet<number>) => Promise<void>

export interface HeldRunnerOptions {
  /** Around each call, first = outermost. */
  readonly guards: readonly Guard[]
  /** What decides which tools of the turn's are offered, the search tool among them. Absent: all are. */
  readonly offering?: Advisor | undefined
  /** Globs over the codes of results: one that matches fails the turn. Default none. */
  readonly failTurnOn?: readonly string[]
}

/**
 * The running of calls that a client has asked for (contract §4.7): through the same guards and limits as in the loop,
 * by the tools that were offered when the calls were made.
 */
export function heldRunner({ guards, offering, failTurnOn = [] }: HeldRunnerOptions): RunHeld {
  const offered = advised(withoutModel, ...(offering ? [offering] : []))
  return async (turn, batch, places) => {
    const { tools } = turn.prompt
    const isThere = batch.every(({ index, tool }) => !places.has(index) || tools.has(tool))
    const shown = isThere ? tools : (await offered(turn)).offered
    const asThen = revise(turn, { tools: toolsThen(batch, tools, shown) })
    const isOurs = (index: number) => places.has(index)
    const over = endOf(asThen, turn.round, undefined)
    const results = over
      ? refuseBatch(asThen, over, isOurs)
      : await runBatch(asThen, guarded(runThen(batch), ...guards), isOurs)
    const failure = failureOf(results, failTurnOn)
    if (failure) throw failure
  }
}

/** What is shown now and what was called then; but a name that nobody had is not run because somebody has it now. */
function toolsThen(
  batch: readonly HeldCall[],
  attached: ReadonlyMap<string, Tool>,
  shown: ReadonlyMap<string, Tool>
): ReadonlyMap<string, Tool> {
  const tools = new Map(shown)
  for (const { tool: name, runner } of batch) {
    const tool = attached.get(name)
    if (runner === 'client') tools.set(name, { name, kind: 'client' })
    else if (runner === 'nobody') tools.delete(name)
    else if (tool) tools.set(name, tool)
  }
  return tools
}

/** A tool that was there once is gone: its registration, the right to it, or the advisor's turn that had added it. */
function runThen(batch: readonly HeldCall[]): Run {
  const were = new Set(batch.flatMap(({ tool, runner }) => (runner === 'gateway' ? [tool] : [])))
  return async (call, turn) => {
    if (turn.prompt.tools.has(call.name) || !were.has(call.name)) return runOffered(call, turn)
    return {
      content:
        `The tool ${call.name} was offered when this call was made, but cannot be run now: it is not registered or ` +
        `allowed any more, or an advisor had added it for that request only.`,
      status: 'refused',
      code: 'tool_not_found'
    }
  }
}

/** Nobody is asked: only what would be shown is wanted. */
const withoutModel: Model = async ({ prompt }) => {
  const message = { role: 'assistant', id: '', content: '', calls: [] } as const
  return { message, messages: [message], finish: 'stop', offered: prompt.tools }
}
