import type { Message, ToolCall, ToolMessage } from '../core/chat.ts'
import { openCalls } from '../core/conversation.ts'
import type { Turn } from '../core/turn.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import { notAnswered } from './memory-not-answered.ts'

/** The messages of a request, sorted by what they are to memory. */
export interface RememberedRequest {
  /** System messages that stood before the first assistant message. */
  readonly head: readonly Message[]
  /** From before the turn, without `head`: the client's own history, if it brought any. */
  readonly before: readonly Message[]
  /** The turn so far: its question, and what has come of it; as stored, where it is. */
  readonly own: readonly Message[]
  /** Id of the message that the turn begins with. */
  readonly question: string
  /** The stored turn that goes on with this request, since it answers its calls. */
  readonly continues?: StoredTurn
}

interface Segment {
  /** Where the client's copy of the open turn begins and ends. */
  readonly from: number
  readonly to: number
  readonly turn: StoredTurn
  readonly results: ReadonlyMap<string, ToolMessage>
}

/** Does the request carry an assistant message from before its turn? Then nothing is recalled (contract §4.9). */
export function bringsHistory({ prompt, question }: Turn): boolean {
  for (const message of prompt.messages) {
    if (message.id === question) return false
    if (message.role === 'assistant') return true
  }
  return false
}

/**
 * Reads a request beside the session's open turns. Where it answers one, or repeats it, the stored form stands in place
 * of the client's copy: that one lacks what the gateway's own tools did.
 */
export function readRequest(turn: Turn, open: readonly StoredTurn[]): RememberedRequest {
  const { messages } = turn.prompt
  const firstAnswer = messages.findIndex(({ role }) => role === 'assistant')
  const isHead = (message: Message, at: number) => message.role === 'system' && (firstAnswer === -1 || at < firstAnswer)
  const head = messages.filter(isHead)
  const rest = messages.filter((message, at) => !isHead(message, at))

  const segment = segmentOf(rest, open)
  if (!segment) return { head, ...splitAt(rest, ownFrom(rest, turn.question)), question: questionOf(rest, turn) }
  const joined = joinedTurn(segment)
  const before = rest.slice(0, segment.from)
  const after = rest.slice(segment.to)
  if (segment.results.size > 0) {
    const own = [...joined, ...after]
    return { head, before, own, question: questionOf(own, turn), continues: segment.turn }
  }
  const now = [...before, ...joined, ...after]
  return { head, ...splitAt(now, ownFrom(now, turn.question)), question: turn.question }
}

/** The newest open turn that the request speaks of, and where. */
function segmentOf(rest: readonly Message[], open: readonly StoredTurn[]): Segment | undefined {
  for (const turn of open.toReversed()) {
    const ids = new Set(openCalls(turn.messages).map(({ id }) => id))
    const at = rest.findIndex(
      message =>
        (message.role === 'assistant' && message.calls.some(({ id }) => ids.has(id))) ||
        (message.role === 'tool' && ids.has(message.callId))
    )
    if (at === -1) continue
    const isCall = rest[at]?.role === 'assistant'
    let to = isCall ? at + 1 : at
    while (rest[to]?.role === 'tool') to++
    const results = rest.slice(at, to).filter(message => message.role === 'tool')
    return {
      from: isCall ? runOfUsers(rest, lastUser(rest, at)) : at,
      to,
      turn,
      results: new Map(results.filter(({ callId }) => ids.has(callId)).map(each => [each.callId, each]))
    }
  }
  return undefined
}

/** Every call has one result, in the order of the calls. */
function joinedTurn({ turn, results }: Segment): readonly Message[] {
  const result = (call: ToolCall) => results.get(call.id) ?? notAnswered(call)
  return [...turn.messages, ...openCalls(turn.messages).map(result)]
}

function questionOf(own: readonly Message[], { question }: Turn): string {
  if (own.some(({ id, role }) => id === question && role === 'user')) return question
  return (own.findLast(({ role }) => role === 'user') ?? own[0])?.id ?? question
}

function splitAt(rest: readonly Message[], at: number): Pick<RememberedRequest, 'before' | 'own'> {
  return { before: rest.slice(0, at), own: rest.slice(at) }
}

/** Where the turn begins: at its question, with the user messages right before it. */
function ownFrom(rest: readonly Message[], question: string): number {
  const at = rest.findLastIndex(({ id }) => id === question)
  // The message was a system message that went to the head, or another advisor took it out.
  return runOfUsers(rest, at === -1 ? lastUser(rest, rest.length) : at)
}

function lastUser(rest: readonly Message[], before: number): number {
  for (let at = before - 1; at >= 0; at--) if (rest[at]?.role === 'user') return at
  return 0
}

function runOfUsers(rest: readonly Message[], from: number): number {
  let at = from
  while (at > 0 && (rest[at - 1]?.role === 'user' || rest[at - 1]?.role === 'system')) at--
  return at
}
