import type { TurnStatus, TurnStore } from '../stores/contracts.ts'
import { endedView } from './ended-view.ts'

/** Writes down what a turn has come to that waits no more, where it has a run view. */
export async function endRun(turns: Pick<TurnStore, 'get' | 'save'>, id: string, status: TurnStatus): Promise<void> {
  const row = await turns.get(id)
  if (row) await turns.save({ ...row, view: endedView(row, status) })
}
