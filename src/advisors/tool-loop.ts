import type { Answer, AssistantMessage, LimitHit, PartialResult, Tool, Usage } from '../core/chat.ts'
import { roundsOfTurn } from '../core/conversation.ts'
import { randomText } from '../core/ids.ts'
import { textOf } from '../core/text.ts'
import { type Advisor, extend, type Guard, guarded, type Model, type Run, revise, type Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { endOf, finishOf } from './tool-loop-limits.ts'
import { kept } from './tool-loop-reply.ts'
import { refuseBatch, runBatch, runOffered, type Settled } from './tool-loop-run.ts'
import { Speaker } from './tool-loop-speaker.ts'

export interface ToolLoopOptions {
  /** Around the running of each call, first = outermost. */
  readonly guards: readonly Guard[]
}

/** How far the turn has come. */
interface Progress {
  /** With the messages of the rounds so far. */
  readonly turn: Turn
  readonly usage: Usage | undefined
  /** What the last batch came to. */
  readonly batch: readonly Settled[]
}

interface Limit {
  readonly hit: LimitHit
  readonly text: string
}

/**
 * The loop: asks the model, runs the calls it makes, shows it the results, until it answers without calls, a limit is
 * reached, or the calls are the client's to run. It stands between the two lists of the configuration, in neither.
 * Call and stream are the same code; a stream only has a listener (contract §4.1).
 */
export function toolLoop({ guards }: ToolLoopOptions): Advisor {
  const run = guarded(runOffered, ...guards)
  return {
    name: 'tool-loop',
    async advise(asked, next) {
      const speaker = new Speaker(asked)
      let progress: Progress = { turn: asked, usage: undefined, batch: [] }
      for (let round = roundsOfTurn(asked) + 1; ; round++) {
        const over = endOf(progress.turn, round, progress.usage)
        if (over) return ended(asked, progress, speaker, over)

        const reply = await ask(progress.turn, round, speaker, next)
        progress = { ...progress, usage: addUsage(progress.usage, reply.usage) }
        tellRoundEnd(asked, round, reply)
        if (!hasCallsToRun(reply)) return finished(asked, progress, speaker, reply)

        progress = await runCalls(progress, round, reply, run)
        const breach = breachOf(progress.batch)
        if (breach) return ended(asked, progress, speaker, breach)
      }
    }
  }
}

/** One model call. A forced choice of tool holds for the turn's first round only (contract §4.2). */
function ask(turn: Turn, round: number, speaker: Speaker, next: Model): Promise<Answer> {
  const emit = speaker.round()
  const { tool_choice: choice, ...params } = turn.prompt.params
  const isForced = choice === 'required' || (typeof choice === 'object' && choice !== null)
  return next(round === 1 || !isForced ? { ...turn, round, emit } : { ...revise(turn, { params }), round, emit })
}

/** Presence decides, not the label; but calls that the output limit or a filter cut are never run. */
function hasCallsToRun(reply: Answer): boolean {
  if (reply.finish !== 'stop' || reply.message.calls.length === 0) return false
  return !reply.message.calls.some(call => isClients(reply.offered.get(call.name), reply))
}

/** With no tool of ours in sight whatever the model calls is the client's business. */
function isClients(tool: Tool | undefined, reply: Answer): boolean {
  if (tool) return tool.run === undefined
  return !reply.offered.values().some(each => each.run !== undefined)
}

async function runCalls({ turn, usage }: Progress, round: number, reply: Answer, run: Run): Promise<Progress> {
  const { asWritten, asReplayed } = kept(reply, turn.prompt.messages)
  const batchTurn: Turn = { ...revise(extend(turn, asWritten), { tools: reply.offered }), round }
  for (const message of asReplayed) turn.keep?.(message)
  const late = endOf(turn, round, usage)
  const batch = late ? refuseBatch(batchTurn, late) : await runBatch(batchTurn, run)
  const results = batch.map(({ message }) => message)
  return { turn: extend(turn, [...asReplayed, ...results]), usage, batch }
}

function breachOf(batch: readonly Settled[]): Limit | undefined {
  for (const { result } of batch) if (result.ends) return { hit: result.ends, text: textOf(result.content) }
  return undefined
}

async function finished(asked: Turn, progress: Progress, speaker: Speaker, reply: Answer): Promise<Answer> {
  const message = forClient(asked, reply)
  await speaker.end(message.calls)
  const { usage: _ofLastRound, ...rest } = reply
  return {
    ...rest,
    message,
    messages: [...added(asked, progress), ...reply.messages.slice(0, -1), message],
    finish: reply.finish === 'stop' && message.calls.length > 0 ? 'client_calls' : reply.finish,
    ...(progress.usage && { usage: progress.usage })
  }
}

/**
 * What the client gets of the last message: only its own calls, and none that were cut off. A gateway tool that was
 * called beside them has not run; the model asks again once it has the client's results, and the answer's notes say so.
 */
function forClient(turn: Turn, reply: Answer): AssistantMessage {
  const isCut = reply.finish !== 'stop' && reply.offered.values().some(tool => tool.run !== undefined)
  if (isCut) return { ...reply.message, calls: [] }
  const own = reply.message.calls.filter(call => isClients(reply.offered.get(call.name), reply))
  if (own.length === reply.message.calls.length) return reply.message
  const deferred = reply.message.calls.filter(call => !own.includes(call))
  for (const { name } of deferred) turn.tell({ type: 'note', note: `deferred:${name}` })
  return { ...reply.message, calls: own }
}

/** A limit ends the turn: its text is the answer, and what the last batch came to is handed over. */
async function ended(asked: Turn, progress: Progress, speaker: Speaker, { hit, text }: Limit): Promise<Answer> {
  asked.tell({ type: 'limit', hit, action: 'stop' })
  const message: AssistantMessage = { role: 'assistant', id: `msg_${randomText(16)}`, content: text, calls: [] }
  await speaker.say(text)
  const ran = progress.batch.filter(({ result }) => result.status === 'ok' || result.status === 'error')
  return {
    message,
    messages: [...added(asked, progress), message],
    finish: finishOf(hit),
    ...(progress.usage && { usage: progress.usage }),
    offered: asked.prompt.tools,
    limit: hit,
    partialResults: ran.map(partial)
  }
}

function partial({ call, result }: Settled): PartialResult {
  return { id: call.id, name: call.name, content: textOf(result.content) }
}

/** The messages of the rounds so far. */
function added(asked: Turn, { turn }: Progress) {
  return turn.prompt.messages.slice(asked.prompt.messages.length)
}

function tellRoundEnd(turn: Turn, round: number, reply: Answer): void {
  const calls = reply.message.calls.length
  turn.tell({ type: 'round.end', round, finish: calls > 0 && reply.finish === 'stop' ? 'calls' : reply.finish, calls })
}
