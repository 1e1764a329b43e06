import type { GatewayError } from '../core/errors.ts'
import type { TurnRow } from '../stores/contracts.ts'
import { runView } from './run-view.ts'
import type { PreparedTurn } from './turn-prepare.ts'

/**
 * The turns that run in this process: to be looked at (contract §2.6), and to be ended when it stops. What has ended is
 * in the store.
 *
 * Slots that are used again, and no Map or Set: V8 lets an outgrown table of those stand, with all that was in it, until
 * a full collection, and each table holds the next. Every turn would outlive its end so (500 µs of CPU a call in place
 * of 300).
 */
export class TurnsUnderWay {
  readonly #slots: (PreparedTurn | undefined)[] = []
  readonly #free: number[] = []

  /** The slot, for `leave`. */
  enter(turn: PreparedTurn): number {
    const slot = this.#free.pop() ?? this.#slots.length
    this.#slots[slot] = turn
    return slot
  }

  /** To be called once the store has the turn's run view, so that it is to be seen all the time. */
  leave(slot: number): void {
    this.#slots[slot] = undefined
    this.#free.push(slot)
  }

  /** Ends all for this reason. */
  end(why: GatewayError): void {
    for (const turn of this.#slots) turn?.clock.end(why)
  }

  /** The run view so far, `status: running`, in the form of a stored one. */
  get(turnId: string): TurnRow | undefined {
    const turn = this.#slots.find(each => each?.head.turnId === turnId)
    if (turn === undefined) return undefined
    const { tenant, keyId, sessionId, createdAt } = turn.head
    const view = runView(turn.head, turn.record, { status: 'running' })
    return { id: turnId, tenant, keyId, sessionId, createdAt, view }
  }
}
