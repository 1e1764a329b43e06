/** Memory: what earlier turns of the session said goes in front of the question, and the turn is kept at its end. */
import type { Answer, Message } from '../core/chat.ts'
import { ownerOf } from '../core/owner-of.ts'
import { type Advisor, type Model, revise, type Turn } from '../core/turn.ts'
import type { SessionStore, StoredTurn } from '../stores/contracts.ts'
import { unheardTurns } from './memory-history.ts'
import { failedTurn, keptTurn } from './memory-kept.ts'
import { type Recalled, recalled } from './memory-recall.ts'
import { bringsHistory, type RememberedRequest, readRequest } from './memory-request.ts'
import { withUniqueCalls } from './memory-whole.ts'

export interface MemoryOptions {
  readonly store: Pick<SessionStore, 'turns' | 'summary' | 'append'>
}

/** What a request has written of its turn: an advisor outside may ask more than once. */
type Written = WeakMap<Turn['request'], Pick<StoredTurn, 'id' | 'status' | 'answerId'>>

/**
 * Recalls and keeps by `policy.memory` (contract §4.9, §4.11); `mode: off` costs nothing. The turn is on disk before
 * its answer is returned. A turn that fails is kept up to there, calls and results included, marked, and never
 * recalled. Rejects with `store_unavailable` when the store cannot be used.
 */
export function memory({ store }: MemoryOptions): Advisor {
  const written: Written = new WeakMap()
  return {
    name: 'memory',
    advise: (turn, next) => (turn.policy.memory.mode === 'off' ? next(turn) : remembered(turn, next, store, written))
  }
}

async function remembered(turn: Turn, next: Model, store: MemoryOptions['store'], written: Written): Promise<Answer> {
  const { unheard, ...found } = await look(turn, store)
  const { past } = found
  const request = readRequest(turn)
  const append = (kept: StoredTurn) => store.append(turn.session, ownerOf(turn.principal), kept)

  const heard: Message[] = []
  const keep = (message: Message): void => {
    heard.push(message)
    turn.keep?.(message)
  }
  try {
    const answer = await next({ ...composed(turn, request, found), keep })
    const kept = again(keptTurn(turn, { request, past, answer }), written.get(turn.request))
    await Promise.all([...unheard(request.before), kept].map(append))
    written.set(turn.request, kept)
    return answer
  } catch (error) {
    const failed = failedTurn(turn, { request, past, heard, error })
    // What went wrong first is what the client is told.
    if (failed) await append(failed).catch(() => {})
    throw error
  }
}

/** In place of what the same request has written before, not of what it went on from. */
function again(kept: StoredTurn, before: Pick<StoredTurn, 'id' | 'status' | 'answerId'> | undefined): StoredTurn {
  if (before?.id !== kept.id || kept.replaces === undefined) return kept
  const { replaces, answers: _, ...rest } = kept
  if (before.status !== 'awaiting_client') return rest
  return { ...rest, replaces, ...(before.answerId !== undefined && { answers: before.answerId }) }
}

interface Looked extends Recalled {
  /** Turns of the client's own history that the store does not have. */
  readonly unheard: (before: RememberedRequest['before']) => readonly StoredTurn[]
}

const NO_PAST: Recalled = { summary: [], past: [] }

async function look(turn: Turn, store: MemoryOptions['store']): Promise<Looked> {
  // A session id that was made up for this request has no past.
  const isNew = !turn.session.named
  if (bringsHistory(turn)) {
    const known = isNew ? [] : await knownTurns(turn, store)
    return { ...NO_PAST, unheard: before => unheardTurns(before, known, turn.startedAt) }
  }
  const found = isNew ? NO_PAST : await recalled(store, turn.session.key, turn.policy.memory, turn.id)
  return { ...found, unheard: () => [] }
}

/** The newest turns, well more than the client's history has. */
async function knownTurns(
  { id, session, prompt }: Turn,
  store: MemoryOptions['store']
): Promise<readonly StoredTurn[]> {
  const { messages } = prompt
  const questions = messages.reduce((count, { role }) => count + (role === 'user' ? 1 : 0), 0)
  const hasCalls = messages.some(
    message => message.role === 'tool' || (message.role === 'assistant' && message.calls.length > 0)
  )
  const statuses = ['completed', 'limited', 'awaiting_client', 'superseded', 'failed', 'cancelled'] as const
  const turns = await store.turns(session.key, statuses, 32 + 2 * questions, hasCalls ? 'all' : 'ends')
  return turns.filter(each => each.id !== id)
}

/** System messages from before the first answer go first, then what is recalled, then the rest (contract §4.1). */
function composed(turn: Turn, { head, before, own }: RememberedRequest, { summary, past }: Recalled): Turn {
  const now = [...before, ...own]
  const messages = [...head, ...summary, ...withUniqueCalls(past.flat(), now), ...now]
  return revise(turn, { messages })
}
