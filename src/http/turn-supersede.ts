import type { Turn } from '../core/turn.ts'
import type { WaitingTurn } from '../stores/contracts.ts'
import { endRun } from './end-run.ts'
import { endWaiting } from './turn-end.ts'
import type { TurnServices } from './turn-services.ts'

/** A new question in place of what was waited for: the calls stay unanswered. */
export async function supersede(
  { stores }: Pick<TurnServices, 'stores'>,
  turn: Pick<Turn, 'session' | 'principal'>,
  waiting: readonly WaitingTurn[]
): Promise<void> {
  const status = 'superseded'
  const end = async (each: WaitingTurn): Promise<void> => {
    // Else another request has gone on from that turn meanwhile: nothing is left to be marked.
    if (await endWaiting(stores, each, turn, { status })) await endRun(stores.turns, each.id, status)
  }
  await Promise.all(waiting.map(end))
}
