import type { Answer, Message } from '../core/chat.ts'
import { heldRequest } from '../core/held-request.ts'
import { ownFrom } from '../core/own-from.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { Turn } from '../core/turn.ts'
import { statusOf } from '../core/turn-status.ts'
import type { StoredTurn, WaitingTurn } from '../stores/contracts.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import type { Ending } from './run-view.ts'
import { endWaiting } from './turn-end.ts'
import { withResults } from './turn-join.ts'
import type { TurnServices } from './turn-services.ts'

/**
 * Where memory does not keep the turn: writes one that waits for its client, and takes out one that has gone on. It is
 * on disk when this resolves. Rejects with `session_busy` when another request has gone on from the same calls.
 */
export async function holdTurn(
  { stores, config }: Pick<TurnServices, 'stores' | 'config'>,
  { turn, resumes }: Pick<PreparedTurn, 'turn' | 'resumes'>,
  answer: Answer
): Promise<void> {
  const calls = statusOf(answer.finish) === 'awaiting_client' ? answer.held : undefined
  if (isRemembered(turn, config) || (resumes === undefined && calls === undefined)) return
  const { session, principal } = turn
  const owner = ownerOf(principal)
  const replaced = resumes && { replaces: resumes.id, ...(resumes.answerId && { answers: resumes.answerId }) }
  if (calls) {
    const { id, startedAt: createdAt } = turn
    const held = {
      ...{ calls, request: heldRequest(turn, calls) },
      isForgotten: resumes?.held?.isForgotten ?? true
    }
    const messages = [...ownMessages(turn), ...answer.messages]
    const waits = { id, status: 'awaiting_client', answerId: answer.message.id, messages, createdAt, held } as const
    await stores.sessions.append(session, owner, { ...waits, ...replaced })
  } else if (resumes?.held?.isForgotten) {
    await stores.calls.forget(resumes)
  } else if (resumes) {
    await stores.sessions.append(session, owner, { ...endedWithout(resumes), ...replaced })
  }
}

/**
 * What the client got decides: a turn that it is not to go on with does not wait in the store either, where an advisor
 * outside memory made something else of it (contract §4.5). `true` when that was so. A request that failed before it
 * came to an answer leaves the turn open that it went on from.
 */
export async function settleTurn(
  { stores, config }: Pick<TurnServices, 'stores' | 'config'>,
  { turn, resumes }: Pick<PreparedTurn, 'turn' | 'resumes'>,
  { status, answer }: Ending
): Promise<boolean> {
  if (status === 'awaiting_client' || !isRemembered(turn, config)) return false
  const waiting = (await stores.calls.waiting(turn.session.key)).find(({ id }) => id === turn.id)
  if (waiting === undefined) return false
  const isAsItWas = resumes !== undefined && resumes.answerId === waiting.answerId
  if (answer === undefined && isAsItWas) return false
  return endWaiting(stores, waiting, turn, { status, message: answer?.message })
}

function isRemembered({ policy }: Turn, { chain }: TurnServices['config']): boolean {
  return policy.memory.mode === 'on' && chain.turn.includes('memory')
}

function endedWithout(turn: WaitingTurn): StoredTurn {
  const { session: _, held: __, ...stored } = turn
  return { ...stored, status: 'superseded', messages: withResults(turn) }
}

function ownMessages({ prompt, question }: Turn): readonly Message[] {
  return prompt.messages.slice(ownFrom(prompt.messages, question)).filter(({ role }) => role !== 'system')
}
