import type { Answer, Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { heldRequest } from '../core/held-request.ts'
import { newMessageId, ulid } from '../core/ids.ts'
import { notAnswered } from '../core/not-answered.ts'
import type { Turn } from '../core/turn.ts'
import { statusOf, type TurnStatus } from '../core/turn-status.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import type { RememberedRequest } from './memory-request.ts'
import { whole } from './memory-whole.ts'

/** The turn as it is stored: its question, all calls with their results, its answer. No system messages. */
export function keptTurn(
  turn: Turn,
  {
    request,
    past,
    answer
  }: {
    readonly request: RememberedRequest
    readonly past: readonly (readonly Message[])[]
    readonly answer: Answer
  }
): StoredTurn {
  const { id, startedAt, resumes } = turn
  const asked = askedMessages(request, past, resumes !== undefined)
  const added = underOwnIds(answer.messages)
  const messages = [...asked, ...added]
  const status = statusOf(answer.finish)
  // An advisor inside memory may have ended what was to wait.
  const held = isWaiting(status) ? answer.held : undefined
  const answerAt = messages.findLastIndex(({ role }) => role === 'assistant')
  const answerId = messages[answerAt]?.id
  return {
    id,
    status,
    ...(answerId !== undefined && { answerId }),
    // The calls that a client is to go on with are the only ones that may stand without results.
    messages: isWaiting(status)
      ? [...whole(messages.slice(0, answerAt)), ...messages.slice(answerAt)]
      : whole(messages),
    createdAt: startedAt,
    ...(resumes !== undefined && { replaces: id, answers: resumes }),
    ...(held && { held: { calls: held, request: heldRequest(turn, held), isForgotten: false } })
  }
}

/**
 * A turn that came to no answer: its question, and the calls and results that there were (`heard`). A turn that went on
 * from a stored one leaves that open, so that its client can send the results again; what it did itself is kept beside
 * it, under an id of its own, and nothing is when it did nothing: `undefined`.
 */
export function failedTurn(
  { id, startedAt, signal, resumes }: Turn,
  {
    request,
    past,
    heard,
    error
  }: {
    readonly request: RememberedRequest
    readonly past: readonly (readonly Message[])[]
    readonly heard: readonly Message[]
    readonly error: unknown
  }
): StoredTurn | undefined {
  if (resumes !== undefined && heard.length === 0) return undefined
  const asked = askedMessages(request, past, resumes !== undefined)
  const added = answered(underOwnIds(heard))
  const isCancelled = [error, signal.aborted && signal.reason].some(
    each => each instanceof GatewayError && (each.code === 'client_closed' || each.code === 'turn_cancelled')
  )
  const status: TurnStatus = isCancelled ? 'cancelled' : 'failed'
  if (resumes === undefined) return { id, status, messages: whole([...asked, ...added]), createdAt: startedAt }
  return { id: `turn_${ulid()}`, status, messages: whole(added), createdAt: startedAt }
}

/** With a result for every call: some were cut off, and others never ran. */
function answered(messages: readonly Message[]): readonly Message[] {
  const results = new Set(messages.flatMap(message => (message.role === 'tool' ? [message.callId] : [])))
  return messages.flatMap((message): readonly Message[] => {
    if (message.role !== 'assistant') return [message]
    return [message, ...message.calls.filter(({ id }) => !results.has(id)).map(notAnswered)]
  })
}

/**
 * An advisor may give its messages ids of its own making, and which of them the session has is not known: what is behind
 * the window or a summary was not read. Memory holds none twice.
 */
function underOwnIds(messages: readonly Message[]): readonly Message[] {
  return messages.map(message => ({ ...message, id: newMessageId() }))
}

/** What the turn had when it came to memory. Of a turn that goes on it stands there as it was stored. */
function askedMessages(
  { own, before }: RememberedRequest,
  past: readonly (readonly Message[])[],
  isStored: boolean
): readonly Message[] {
  const taken = new Set([...past.flat(), ...before].map(({ id }) => id))
  return own
    .filter(({ role }) => role !== 'system')
    .map(message => {
      // The edge has minted the ids of questions.
      const isNew = (isStored || message.role === 'user') && !taken.has(message.id)
      taken.add(message.id)
      return isNew ? message : { ...message, id: newMessageId() }
    })
}

function isWaiting(status: TurnStatus): boolean {
  return status === 'awaiting_client' || status === 'awaiting_approval'
}
