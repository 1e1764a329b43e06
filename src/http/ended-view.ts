import type { TurnRow, TurnStatus } from '../stores/contracts.ts'
import { earlierRun } from './earlier-run.ts'

/** The run view of a turn that waits no more, as JSON text: calls that were open have not run. */
export function endedView(row: TurnRow, status: TurnStatus): string {
  const { rounds } = earlierRun(row, () => 'not_run')
  return JSON.stringify({ ...JSON.parse(row.view), status, rounds })
}
