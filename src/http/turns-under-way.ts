import type { GatewayError } from '../core/errors.ts'
import type { TurnRow } from '../stores/contracts.ts'
import type { RunRecord } from './run-record.ts'
import { type RunHead, runView } from './run-view.ts'
import type { TurnSignal } from './turn-signal.ts'

/** What has to be known of a turn that runs. */
interface RunningTurn {
  readonly head: RunHead
  readonly record: RunRecord
  readonly clock: Pick<TurnSignal, 'end' | 'attend'>
}

/**
 * The turns that run in this process: to be looked at (contract §2.6), and to be ended when it stops. What has ended is
 * in the store.
 *
 * Slots that are used again, and no Map or Set: V8 lets an outgrown table of those stand, with all that was in it, until
 * a full collection, and each table holds the next. Every turn would outlive its end so (500 µs of CPU a call in place
 * of 300).
 */
export class TurnsUnderWay {
  readonly #slots: (RunningTurn | undefined)[] = []
  readonly #free: number[] = []

  /** The slot, for `leave`. */
  enter(turn: RunningTurn): number {
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

  /** Ends one for this reason; `false` when it does not run here. */
  endOne(turnId: string, why: GatewayError): boolean {
    const turn = this.#find(turnId)
    turn?.clock.end(why)
    return turn !== undefined
  }

  /** Another connection reads the turn's answer, until what is returned is called. */
  attend(turnId: string): () => void {
    return this.#find(turnId)?.clock.attend() ?? (() => {})
  }

  /** The run view so far, `status: running`, in the form of a stored one. */
  get(turnId: string): TurnRow | undefined {
    const turn = this.#find(turnId)
    if (turn === undefined) return undefined
    const { tenant, keyId, sessionId, createdAt } = turn.head
    const view = runView(turn.head, turn.record, { status: 'running' })
    return { id: turnId, tenant, keyId, sessionId, createdAt, view }
  }

  #find(turnId: string): RunningTurn | undefined {
    return this.#slots.find(each => each?.head.turnId === turnId)
  }
}
