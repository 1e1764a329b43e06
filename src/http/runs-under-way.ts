import type { TurnRow } from '../stores/contracts.ts'
import { runView } from './run-view.ts'
import type { PreparedTurn } from './turn-prepare.ts'

type Run = Pick<PreparedTurn, 'head' | 'record'>

/** The turns that run in this process, to be looked at (contract §2.6); what has ended is in the store. */
export class RunsUnderWay {
  readonly #runs = new Map<string, Run>()

  enter(run: Run): void {
    this.#runs.set(run.head.turnId, run)
  }

  /** To be called once the store has the turn's run view, so that it is to be seen all the time. */
  leave({ head }: Run): void {
    this.#runs.delete(head.turnId)
  }

  /** The run view so far, `status: running`, in the form of a stored one. */
  get(turnId: string): TurnRow | undefined {
    const run = this.#runs.get(turnId)
    if (run === undefined) return undefined
    const { tenant, keyId, sessionId, createdAt } = run.head
    return {
      id: turnId,
      tenant,
      keyId,
      sessionId,
      createdAt,
      view: runView(run.head, run.record, { status: 'running' })
    }
  }
}
