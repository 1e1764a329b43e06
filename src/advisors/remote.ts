/** An advisor that somebody else runs, in any language: asked over HTTP before a model call, after it, or both. */
import type { Answer, Message, Usage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { questionOf } from '../core/question-of.ts'
import { replay } from '../core/replay.ts'
import { withSpent } from '../core/spent.ts'
import { type Advisor, type Model, revise, type Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { withUsageOf } from '../core/with-usage-of.ts'
import type { Consult } from './remote-consult.ts'
import { RemoteFailure } from './remote-failure.ts'
import { replaced } from './remote-replaced.ts'
import type { Question, Verdict } from './remote-verdict.ts'

export interface RemoteOptions {
  readonly name: string
  readonly consult: Consult
  /** `request`: before the model is asked. `response`: once it has answered; until then nothing of it is shown. */
  readonly on: readonly ('request' | 'response')[]
  /** When it cannot be asked: `open`: go on as if it had nothing to say. `closed`: the turn fails. */
  readonly fail: 'open' | 'closed'
  /** No meter stands around it: it tells itself what its own model calls used. */
  readonly isMetered: boolean
}

const GO_ON: Verdict = { kind: 'go_on' }

/**
 * Asks the remote advisor and does what it says (contract §11): in `turn` once, with the question and the final answer;
 * in `call` every round, and what it replaces there holds for that round, below it. Call and stream are the same code.
 */
export function remote(options: RemoteOptions): Advisor {
  const { name, on } = options
  const ask = asking(options)
  return {
    name,
    async advise(turn, next) {
      if (on.includes('response')) refuseManyChoices(turn, name)
      const { messages } = turn.prompt
      const before = on.includes('request') ? await ask(turn, { phase: 'request', messages }, undefined) : GO_ON
      if (before.kind === 'answer') return answeredBy(before, turn)
      const asked = before.kind === 'messages' ? withMessages(turn, before.messages) : turn
      if (!on.includes('response')) return paid(asked, next, before.usage)

      const answer = await paid({ ...asked, emit: undefined }, next, before.usage)
      const { message, usage } = answer
      const after = await ask(turn, { phase: 'response', message, usage }, usage)
      const said = after.kind === 'message' || after.kind === 'answer' ? replaced(answer, after) : answer
      await replay(said.message, turn.emit, said.choice?.logprobs)
      return withUsageOf(said, after)
    }
  }
}

/** `spent`: what the turn is known to have used so far, should it end here. */
function asking({ name, consult, fail, isMetered }: RemoteOptions) {
  return async (turn: Turn, question: Question, spent: Usage | undefined): Promise<Verdict> => {
    const { round } = turn
    const began = performance.now()
    let verdict: Verdict
    try {
      verdict = await consult(question, turn)
    } catch (error) {
      turn.signal.throwIfAborted()
      if (!(error instanceof RemoteFailure)) throw error
      warn(turn, { advisor: name, phase: question.phase, fault: error.fault, what: error.what })
      if (fail === 'closed') throw withSpent(unanswered(name, error), spent)
      turn.tell({ type: 'note', note: `advisor_failed:${name}` })
      return GO_ON
    } finally {
      turn.tell({ type: 'advisor', round, name, phase: question.phase, durationMs: performance.now() - began })
    }
    const { usage } = verdict
    if (usage && !isMetered)
      turn.tell({ type: 'usage', round, provider: 'advisor', model: name, usage, estimated: false })
    if (verdict.kind === 'error') throw withSpent(blocked(verdict), addUsage(spent, usage))
    return verdict
  }
}

function warn({ log, id, request }: Turn, fields: object): void {
  log.warn({ event: 'advisor.failed', ...fields, turn_id: id, request_id: request.id })
}

/** Not to be tried again by `retry`: the time that it was given is used up, and what stands below it was not at fault. */
function unanswered(name: string, { fault }: RemoteFailure): GatewayError {
  const detail = { reason: 'advisor_failed', transient: false }
  const sentence = `The advisor ${name} did not answer as it must, and without it no turn goes on (fail: closed).`
  return fault === 'timeout'
    ? new GatewayError('upstream_timeout', sentence, { ...detail, phase: 'total' })
    : new GatewayError('upstream_error', sentence, detail)
}

function blocked({ code, message }: Extract<Verdict, { kind: 'error' }>): GatewayError {
  return new GatewayError('guardrail_blocked', message, { reason: code })
}

/** What it never saw must not be shown: it is asked about one message. */
function refuseManyChoices({ prompt }: Turn, name: string): void {
  if (typeof prompt.params.n !== 'number' || prompt.params.n <= 1) return
  throw new GatewayError('invalid_request', `n must be 1: the advisor ${name} reads every answer.`, { param: 'n' })
}

/** Asks below, and adds what was used before, whether an answer comes or an error. */
async function paid(turn: Turn, next: Model, before: Usage | undefined): Promise<Answer> {
  try {
    return withUsageOf(await next(turn), { usage: before })
  } catch (error) {
    throw withSpent(error, before)
  }
}

/** The turn begins at its question; where that was taken away, at the last message of its kind. */
function withMessages(turn: Turn, messages: readonly Message[]): Turn {
  const isThere = messages.some(({ id }) => id === turn.question)
  const question = isThere ? turn.question : (questionOf(messages)?.id ?? turn.question)
  return { ...revise(turn, { messages }), question }
}

/** No model is asked. */
async function answeredBy(
  { message, finish, usage }: Extract<Verdict, { kind: 'answer' }>,
  turn: Turn
): Promise<Answer> {
  turn.signal.throwIfAborted()
  await replay(message, turn.emit)
  return { message, messages: [message], finish, ...(usage && { usage }), offered: turn.prompt.tools }
}
