/** The whole architecture: a model answers a turn, an advisor wraps a model, a guard wraps the running of a tool. */
import type { Answer, Content, Delta, Fields, LimitHit, Message, Prompt, Tool, ToolCall, Usage } from './chat.ts'
import type { TurnEvent } from './events.ts'
import type { OnLimit, Policy } from './policy.ts'
import type { Principal, Session } from './principal.ts'
import type { TurnJournal } from './turn-journal.ts'

/** Writes a piece to the client. A returned promise means: wait before the next piece. Never an `async` function. */
export type Emit = (delta: Delta) => undefined | Promise<void>

/** One question on its way to a model. Never changed, only copied (`revise`, `extend`). */
export interface Turn {
  /** `turn_<ULID>`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Id of the user message that the turn begins with; what stands after it belongs to the turn. */
  readonly question: string
  /** The model call under way, from 1; 0 outside the loop. */
  readonly round: number
  readonly prompt: Prompt
  /** Absent when nobody listens: answer in one piece then. */
  readonly emit?: Emit | undefined
  /** The loop holds every piece of a call back: the listener hears of none before the answer is there. */
  readonly callsAreHeld?: boolean
  /**
   * Somebody outside sends nothing but reasoning, and calls, before the answer is there: a model call that breaks off in
   * its text can be repeated. Whoever gathers the pieces of a turn himself takes this off, since he would gather twice.
   */
  readonly textIsHeld?: boolean | undefined
  /** Aborted when the client has gone, time is up or the turn was cancelled. Every wait takes it. */
  readonly signal: AbortSignal
  readonly session: Session
  readonly principal: Principal
  readonly policy: Policy
  readonly request: RequestInfo
  /** Id of the stored answer that waited, when the client goes on with a turn; what it has taken stands in `spent`. */
  readonly resumes?: string | undefined
  /** Says what happened, for the run view, metrics and events. Must not throw and never waits. */
  readonly tell: (event: TurnEvent) => void
  /**
   * Told every message that the loop adds, once it is there: an answer carries them too, but a turn that comes to none
   * has no other way to leave behind what its tools did. Results come in the order in which calls settle.
   */
  readonly keep?: ((message: Message) => void) | undefined
  /** Absent: nothing of the turn is to survive a crash. */
  readonly journal?: TurnJournal | undefined
  /**
   * What the turn has cost so far over all its requests, in micro-dollars, whatever became of its model calls. Absent:
   * nobody reckons it.
   */
  readonly costMicros?: (() => number) | undefined
  /** What the turn has taken before this that its messages do not show: set by an advisor that asks again. */
  readonly spent?: Spent | undefined
  readonly log: Log
}

/** The HTTP request the turn came with, as far as tools are told of it. */
export interface RequestInfo {
  /** `req_…`, or the client's own `x-request-id`. */
  readonly id: string
  readonly traceparent?: string
  /** `x-gateway-hops` of the request; a webhook gets one more. */
  readonly hops: number
  /** `loopgate.context`: only keys in a tool's `context.allow` reach it. */
  readonly context: Fields
}

/** Counts toward the limits of the turn, and toward the numbers of its rounds. */
export interface Spent {
  /** Model calls whose answers were dropped. */
  readonly rounds: number
  /** Of all model calls so far, also of those that the messages show. */
  readonly usage?: Usage | undefined
}

export type Model = (turn: Turn) => Promise<Answer>

export interface Advisor {
  /** As in the configuration. */
  readonly name: string
  /** `next` may be called any number of times, one at a time. */
  advise(turn: Turn, next: Model): Promise<Answer>
}

/** Runs one tool call. Rejects only when the turn itself must end (abort, store down); a failed tool is a result. */
export type Run = (call: ToolCall, turn: Turn) => Promise<ToolResult>

/** A limit that was met, and what it does to the turn (contract §4.3). */
export interface Breach {
  readonly hit: LimitHit
  readonly action: OnLimit
}

/** What a tool call came to, as the model is told. */
export interface ToolResult {
  readonly content: Content
  /** `ok`, or why not: contract §2.6. */
  readonly status: 'ok' | 'error' | 'refused' | 'not_run' | 'unknown'
  /** A word of contract §6.5 unless `status` is `ok`. */
  readonly code?: string
  /** Set by the limit that refused the call. Under `stop` the content is the answer of the turn. */
  readonly breach?: Breach
  /** What a client is shown where the result is the answer, if not the content; `false`: it is not to be the answer. */
  readonly direct?: string | false
  readonly webhookId?: string
  /** Times the call was sent. Default 0. */
  readonly attempts?: number
}

/** What an advisor is to a model, a guard is to a tool. */
export interface Guard {
  readonly name: string
  guard(call: ToolCall, turn: Turn, next: Run): Promise<ToolResult>
}

/** Satisfied by pino. Never given prompts, arguments, results or keys. */
export interface Log {
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
  debug(fields: object, message?: string): void
}

/** Wraps a model; the first advisor is the outermost. */
export function advised(model: Model, ...advisors: readonly Advisor[]): Model {
  return advisors.reduceRight<Model>((next, advisor) => turn => advisor.advise(turn, next), model)
}

/** Wraps the running of a tool; the first guard is the outermost. */
export function guarded(run: Run, ...guards: readonly Guard[]): Run {
  return guards.reduceRight<Run>((next, guard) => (call, turn) => guard.guard(call, turn, next), run)
}

/** A copy of the turn with another prompt. */
export function revise(turn: Turn, changes: Partial<Prompt>): Turn {
  return { ...turn, prompt: { ...turn.prompt, ...changes } }
}

/** A copy of the turn with messages added at its end. */
export function extend(turn: Turn, messages: readonly Message[]): Turn {
  if (messages.length === 0) return turn
  return revise(turn, { messages: [...turn.prompt.messages, ...messages] })
}

export type { Tool }
