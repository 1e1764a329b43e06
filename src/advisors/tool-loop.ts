import type { Answer } from '../core/chat.ts'
import { closeBatch } from '../core/close-batch.ts'
import { roundsOfTurn } from '../core/conversation.ts'
import { textOf } from '../core/text.ts'
import { type Advisor, extend, type Guard, guarded, type Model, type Run, revise, type Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { begun } from './tool-loop-begun.ts'
import { breachesOf, lastBy, stopOf } from './tool-loop-breaches.ts'
import { CallIds } from './tool-loop-call-ids.ts'
import { clientsCalls, forClient, hasCalls } from './tool-loop-calls.ts'
import { ended, isDirect, returned } from './tool-loop-ended.ts'
import { failureOf } from './tool-loop-failed.ts'
import { type Batch, handedOver, mustBeHeld } from './tool-loop-held.ts'
import { endOf, type Limit } from './tool-loop-limits.ts'
import { added, type Progress } from './tool-loop-progress.ts'
import { kept } from './tool-loop-reply.ts'
import { hasRun, refuseBatch, runBatch, runOffered } from './tool-loop-run.ts'
import { Speaker } from './tool-loop-speaker.ts'

export interface ToolLoopOptions {
  /** Around the running of each call, first = outermost. */
  readonly guards: readonly Guard[]
  /** Globs over the codes of results: one that matches fails the turn. Default none. */
  readonly failTurnOn?: readonly string[]
  /** The words, in any case, under which calls are run. Absent: any but those for a cut or filtered answer. */
  readonly eligibleFinish?: readonly string[] | undefined
  /** An advisor further in may add tools: no call is the client's before the round is over. Default false. */
  readonly mayAddTools?: boolean
}

/**
 * The loop: asks the model, runs the calls it makes, shows it the results, until it answers without calls, a limit is
 * reached, the results are the answer, or the calls are the client's to run. It stands between the two lists of the
 * configuration, in neither. Call and stream are the same code; a stream only has a listener (contract §4.1).
 */
export function toolLoop({ guards, failTurnOn = [], eligibleFinish, mayAddTools = false }: ToolLoopOptions): Advisor {
  const run = guarded(runOffered, ...guards)
  const eligible = eligibleFinish && new Set(eligibleFinish.map(word => word.toLowerCase()))
  return {
    name: 'tool-loop',
    async advise(asked, next) {
      const speaker = new Speaker(asked, mayAddTools)
      let progress = begun(asked)
      for (let round = roundsOfTurn(asked) + 1; ; round++) {
        const over = endOf(progress.turn, round, progress.usage)
        if (over?.action === 'stop') return ended(progress, speaker, over)
        if (over && !progress.last) progress = { ...progress, last: over }

        const ids = new CallIds(progress.turn.prompt.messages, speaker.renames && !asked.session.named)
        const reply = await ask(progress, round, speaker.round(progress.last === undefined, ids), next)
        speaker.saw(reply.offered)
        progress = { ...progress, usage: addUsage(progress.usage, reply.usage) }
        tellRoundEnd(asked, round, reply)
        if (progress.last) return forced(progress, speaker, reply, progress.last)
        const theirs = clientsCalls(asked, reply)
        if (!hasCalls(reply, eligible) || (theirs.size > 0 && !mustBeHeld(progress, reply))) {
          return finished(progress, speaker, { ...reply, message: forClient(asked, reply) })
        }

        const given = theirs.size > 0 ? heldIds(progress, speaker, ids) : ids
        const batch: Batch = { round, reply, theirs, ...kept(reply, given) }
        progress = await runCalls(progress, batch, run)
        const failure = failureOf(progress.batch, failTurnOn)
        if (failure) throw failure
        const stop = stopOf(progress)
        if (stop) return ended(closed(progress), speaker, stop)
        if (theirs.size > 0) return handedOver(told(progress), speaker, batch)
        if (isDirect(progress.batch, reply.offered)) return returned(progress, speaker)
        progress = told(progress)
      }
    }
  }
}

/**
 * One model call. A forced choice of tool holds for the turn's first round only, and in a last round the model may
 * choose none, though it sees the same tools (contract §4.2, §4.3).
 */
function ask(
  { turn, last }: Progress,
  round: number,
  heard: ReturnType<Speaker['round']>,
  next: Model
): Promise<Answer> {
  const { tool_choice: choice, ...params } = turn.prompt.params
  if (last) {
    turn.tell({ type: 'limit', hit: last.hit, action: 'force_answer' })
    return next({ ...revise(turn, { params: { ...params, tool_choice: 'none' } }), round, ...heard })
  }
  const isForced = choice === 'required' || (typeof choice === 'object' && choice !== null)
  return next(
    round === 1 || !isForced ? { ...turn, round, ...heard } : { ...revise(turn, { params }), round, ...heard }
  )
}

/** Where calls have not been sent yet, a client that named no session gets them under ids it can be known by. */
function heldIds({ asked, turn }: Progress, speaker: Speaker, ids: CallIds): CallIds {
  return speaker.passes || asked.session.named ? ids : new CallIds(turn.prompt.messages, true)
}

/** All calls of the batch but those that the client goes on with. */
async function runCalls(progress: Progress, batched: Batch, run: Run): Promise<Progress> {
  const { round, reply, theirs, asWritten, asReplayed } = batched
  const { turn, usage, idle } = progress
  const batchTurn: Turn = { ...revise(extend(turn, asWritten), { tools: reply.offered }), round }
  for (const message of asReplayed) turn.keep?.(message)
  const isOurs = (index: number) => !theirs.has(index)
  const late = theirs.size < reply.message.calls.length ? endOf(turn, round, usage) : undefined
  const batch = late ? refuseBatch(batchTurn, late) : await runBatch(batchTurn, run, isOurs)
  const results = batch.map(({ message }) => message)
  return {
    ...progress,
    turn: extend(turn, [...asReplayed, ...results]),
    batch,
    idle: batch.some(hasRun) ? 0 : idle + 1
  }
}

/** A turn that ends here waits for no client: its calls have a result like all others. */
function closed(progress: Progress): Progress {
  const { turn } = progress
  return { ...progress, turn: revise(turn, { messages: closeBatch(turn.prompt.messages) }) }
}

/** The model is told of the limits that were met; is its next round to be the last? */
function told(progress: Progress): Progress {
  const last = lastBy(progress)
  if (last?.action === 'force_answer') return { ...progress, last }
  for (const { hit } of breachesOf(progress.batch)) progress.asked.tell({ type: 'limit', hit, action: 'tell_model' })
  return last ? { ...progress, last } : progress
}

/** What the model said in a last round; where it said nothing, the text of the limit. Calls are left out. */
function forced(progress: Progress, speaker: Speaker, reply: Answer, last: Limit): Promise<Answer> {
  const { message } = reply
  if (textOf(message.content) === '' && !message.refusal) return ended(progress, speaker, last)
  return finished(progress, speaker, { ...reply, message: { ...message, calls: [] }, limit: last.hit })
}

/** `reply.message` is what the client gets. */
async function finished(progress: Progress, speaker: Speaker, reply: Answer): Promise<Answer> {
  const { usage: _ofLastRound, message, finish, ...rest } = reply
  const { usage } = progress
  await speaker.end(message.calls)
  return {
    ...rest,
    message,
    messages: [...added(progress), ...reply.messages.slice(0, -1), message],
    finish: finish === 'stop' && message.calls.length > 0 ? 'client_calls' : finish,
    ...(usage && { usage })
  }
}

function tellRoundEnd(turn: Turn, round: number, reply: Answer): void {
  const calls = reply.message.calls.length
  turn.tell({ type: 'round.end', round, finish: calls > 0 && reply.finish === 'stop' ? 'calls' : reply.finish, calls })
}
