import type { Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { newMessageId } from '../core/ids.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { Turn } from '../core/turn.ts'
import type { StoredTurn, Stores, TurnStatus, WaitingTurn } from '../stores/contracts.ts'
import { withResults } from './turn-join.ts'

/** What a turn that waited has come to. */
export interface WaitedEnd {
  readonly status: TurnStatus
  /** What its client was given in place of its calls. */
  readonly message?: Message | undefined
}

/**
 * A turn that waited for its client waits no more: its calls stay without results but for those that ran. `false` when
 * another request has gone on from it meanwhile.
 */
export async function endWaiting(
  { sessions, calls }: Pick<Stores, 'sessions' | 'calls'>,
  turn: WaitingTurn,
  { session, principal }: Pick<Turn, 'session' | 'principal'>,
  { status, message }: WaitedEnd
): Promise<boolean> {
  const { session: _, held, ...stored } = turn
  const owner = ownerOf(principal)
  const said = message?.role === 'assistant' && { ...message, id: newMessageId(), calls: [] }
  const ended: StoredTurn = {
    ...stored,
    ...{ status, messages: [...withResults(turn), ...(said ? [said] : [])], replaces: turn.id },
    ...(turn.answerId !== undefined && { answers: turn.answerId }),
    ...(said && { answerId: said.id })
  }
  try {
    await (held?.isForgotten ? calls.forget(turn) : sessions.append(session, owner, ended))
    return true
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'session_busy') return false
    throw error
  }
}
