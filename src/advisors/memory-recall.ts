import type { Message } from '../core/chat.ts'
import type { MemoryPolicy } from '../core/policy.ts'
import type { SessionStore, StoredTurn, TurnStatus } from '../stores/contracts.ts'
import { whole, withUniqueCalls } from './memory-whole.ts'
import { withinWindow } from './memory-window.ts'

export interface Recalled {
  /** What is recalled of each past turn, oldest first. */
  readonly past: readonly (readonly Message[])[]
  /** Turns that wait for their client, whole, oldest first. */
  readonly open: readonly StoredTurn[]
}

type Recall = Pick<MemoryPolicy, 'recall' | 'window'>

/** Turns read at first where no number of turns is the bound. */
const AT_FIRST = 64

const RECALLED = {
  answers: ['completed', 'awaiting_client'],
  all: ['completed', 'limited', 'awaiting_client']
} as const satisfies Record<MemoryPolicy['recall'], readonly TurnStatus[]>

/** What a turn of the session recalls by the policy; `turnId` is that turn's own, which is not its past. */
export async function recalled(
  store: Pick<SessionStore, 'turns'>,
  sessionKey: string,
  policy: Recall,
  turnId?: string
): Promise<Recalled> {
  const { maxTurns } = policy.window
  // One more than fits is read for the turn itself or one that waits.
  for (let limit = (maxTurns ?? AT_FIRST) + 1; ; limit *= 4) {
    const turns = await store.turns(
      sessionKey,
      RECALLED[policy.recall],
      limit,
      policy.recall === 'all' ? 'all' : 'ends'
    )
    const others = turns.filter(({ id }) => id !== turnId)
    const open = others.filter(({ status }) => status === 'awaiting_client')
    const ended = others.filter(({ status }) => status !== 'awaiting_client').map(each => shown(each, policy.recall))
    const past = withinWindow(ended, policy.window, ends)
    const isAll = turns.length < limit
    if (isAll || past.length < ended.length || past.length === maxTurns) return { past, open }
  }
}

/** The messages that the session's next turn would recall, as `GET /v1/sessions/{id}?view=recall` shows them. */
export async function recallView(
  store: Pick<SessionStore, 'turns'>,
  sessionKey: string,
  policy: Recall
): Promise<readonly Message[]> {
  const { past } = await recalled(store, sessionKey, policy)
  return withUniqueCalls(past.flat(), [])
}

/** `answers`: question and final answer. `all`: also calls and results, but never the text a limit answered with. */
function shown({ status, answerId, messages }: StoredTurn, recall: MemoryPolicy['recall']): readonly Message[] {
  if (recall === 'answers') return messages.flatMap(message => end(message, message.id === answerId))
  return whole(status === 'limited' ? messages.filter(({ id }) => id !== answerId) : messages)
}

function ends(turn: readonly Message[]): readonly Message[] {
  const last = turn.at(-1)
  return turn.flatMap(message => end(message, message === last && message.role === 'assistant'))
}

function end(message: Message, isAnswer: boolean): readonly Message[] {
  if (message.role === 'user') return [message]
  return isAnswer && message.role === 'assistant' ? [{ ...message, calls: [] }] : []
}
