import type { Message, ToolCall, ToolMessage } from '../core/chat.ts'
import { closeBatch } from '../core/close-batch.ts'
import { lastAnswer, openCalls } from '../core/conversation.ts'
import { GatewayError } from '../core/errors.ts'
import { lastUser, runOfUsers } from '../core/own-from.ts'
import { questionOf } from '../core/question-of.ts'
import { unknownOutcome } from '../core/unknown-outcome.ts'
import type { WaitingTurn } from '../stores/contracts.ts'

export interface Joined {
  /** The request's, with the stored form of a waiting turn in place of the client's copy. */
  readonly messages: readonly Message[]
  /** The turn that goes on with this request. */
  readonly resumes?: WaitingTurn
  /** Id of the message that it begins with: what a client asks beside its results is part of the same turn. */
  readonly question?: string
  /** Turns that wait no longer, since something new was asked. */
  readonly superseded: readonly WaitingTurn[]
}

interface Segment {
  /** Where the client's copy of the waiting turn begins and ends. */
  readonly from: number
  readonly to: number
  readonly turn: WaitingTurn
  readonly results: readonly ToolMessage[]
}

/**
 * Reads a request beside the turns that wait for its client (contract §4.5, §4.7, §4.9). A request that brings results,
 * or asks nothing new, goes on with one: every call has exactly one result then, in the order of the calls, and what the
 * store has wins over what the client says. Throws `session_busy` when a call of it is being run.
 */
export function joinWaiting(messages: readonly Message[], waiting: readonly WaitingTurn[]): Joined {
  if (waiting.length === 0) return { messages, superseded: [] }
  const segment = segmentOf(messages, waiting) ?? continued(messages, waiting)
  if (!segment) return { messages, superseded: waiting }
  const { from, to, turn, results } = segment
  const before = messages.slice(0, from)
  const between = messages.slice(from, to).filter(({ role }) => role === 'system')
  const after = messages.slice(to)
  const joined = [...before, ...between, ...withResults(turn, results), ...after]
  const asksAnew = results.length === 0 && after.some(({ role }) => role === 'user')
  if (asksAnew) return { messages: joined, superseded: waiting }
  if (isUnderWay(turn)) throw busy()
  const question = questionOf(turn.messages)
  return {
    ...{ messages: joined, resumes: turn, superseded: waiting.filter(each => each !== turn) },
    ...(question && { question: question.id })
  }
}

/** The messages of a waiting turn, with a result for every call: the store's, else the client's, else none. */
export function withResults(turn: WaitingTurn, results: readonly ToolMessage[] = []): readonly Message[] {
  const given = new Map(results.map(each => [each.callId, each]))
  const rows = new Map(turn.held?.calls.map(call => [call.callId, call]))
  return closeBatch(turn.messages, ({ id }) => {
    const row = rows.get(id)
    return row?.result ?? (row?.state === 'unknown' ? unknownOutcome(id, row.tool) : given.get(id))
  })
}

/** Calls of a waiting turn that its client knows of and may answer. */
export function answerable({ messages }: WaitingTurn): readonly ToolCall[] {
  return openCalls(messages)
}

/** The newest waiting turn that the end of the request speaks of, and where. */
function segmentOf(messages: readonly Message[], waiting: readonly WaitingTurn[]): Segment | undefined {
  for (const turn of waiting.toReversed()) {
    const ids = new Set(answerable(turn).map(({ id }) => id))
    const calling = messages.findLastIndex(
      message => message.role === 'assistant' && message.calls.some(({ id }) => ids.has(id))
    )
    const at = calling === -1 ? messages.findIndex(each => each.role === 'tool' && ids.has(each.callId)) : calling
    if (at === -1) continue
    let to = calling === -1 ? at : at + 1
    while (messages[to]?.role === 'tool') to++
    // Somebody has answered since: those are calls of another time, under ids that were used again.
    if (lastAnswer(messages.slice(to))) continue
    const tools = messages.slice(at, to).filter(message => message.role === 'tool')
    const results = tools.filter(({ callId }) => ids.has(callId))
    return { from: calling === -1 ? at : questionFrom(messages, at), to, turn, results }
  }
  return undefined
}

/** A request that says nothing goes on with the newest. */
function continued(messages: readonly Message[], waiting: readonly WaitingTurn[]): Segment | undefined {
  const turn = waiting.at(-1)
  if (turn === undefined || messages.some(({ role }) => role !== 'system')) return undefined
  return { from: messages.length, to: messages.length, turn, results: [] }
}

/** Where the question begins that stands before the place; system messages that lead it are not part of it. */
function questionFrom(messages: readonly Message[], at: number): number {
  const question = lastUser(messages, at)
  if (messages[question]?.role !== 'user') return at
  let from = runOfUsers(messages, question)
  while (messages[from]?.role === 'system') from++
  return from
}

function isUnderWay({ held }: WaitingTurn): boolean {
  return held?.calls.some(({ state }) => state === 'dispatched') === true
}

function busy(): GatewayError {
  return new GatewayError('session_busy', 'A call of the turn is being run; go on with it when it has its result.')
}
