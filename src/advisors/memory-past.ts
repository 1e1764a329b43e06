import type { AssistantMessage, Message, Part } from '../core/chat.ts'
import type { MemoryPolicy } from '../core/policy.ts'
import type { SessionStore, StoredTurn, TurnStatus } from '../stores/contracts.ts'
import { ends } from './memory-ends.ts'
import { whole } from './memory-whole.ts'

export interface PastTurns {
  /** What is recalled of each turn that has ended, oldest first. */
  readonly ended: readonly PastTurn[]
  /** There are none before these that the session's summary does not cover. */
  readonly isAll: boolean
}

export interface PastTurn {
  readonly id: string
  readonly messages: readonly Message[]
}

const RECALLED = {
  answers: ['completed'],
  all: ['completed', 'limited']
} as const satisfies Record<MemoryPolicy['recall'], readonly TurnStatus[]>

/** The newest `limit` turns that count as the session's past, without those that its summary stands for. */
export async function pastTurns(
  store: Pick<SessionStore, 'turns'>,
  sessionKey: string,
  { recall, limit, except }: Pick<MemoryPolicy, 'recall'> & { readonly limit: number; readonly except?: string }
): Promise<PastTurns> {
  const part = recall === 'all' ? 'all' : 'ends'
  const turns = await store.turns(sessionKey, RECALLED[recall], limit, part, 'summary')
  return {
    ended: turns
      .filter(({ id }) => id !== except)
      .map(each => ({ id: each.id, messages: withoutBlankEnd(shown(each, recall)) }))
      .filter(({ messages }) => messages.length > 0),
    isAll: turns.length < limit
  }
}

/** `answers`: question and final answer. `all`: also calls and results, but never the text a limit answered with. */
function shown({ status, answerId, messages }: StoredTurn, recall: MemoryPolicy['recall']): readonly Message[] {
  if (recall === 'answers') return ends(messages, answerId)
  return whole(status === 'limited' ? messages.filter(({ id }) => id !== answerId) : messages)
}

/**
 * Some providers take no message without content, so an answer that was none is not shown; and since others take no two
 * questions in a row, neither is a question to which nothing else came.
 */
function withoutBlankEnd(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  if (last?.role === 'assistant' && !isBlank(last)) return messages
  const rest = last?.role === 'assistant' ? messages.slice(0, -1) : messages
  return rest.some(({ role }) => role !== 'user') ? rest : []
}

function isBlank({ content, calls, refusal }: AssistantMessage): boolean {
  const isEmpty = typeof content === 'string' ? content.trim() === '' : content.every(isBlankPart)
  return isEmpty && calls.length === 0 && !refusal
}

function isBlankPart(part: Part): boolean {
  return part.type === 'text' && part.text.trim() === ''
}
