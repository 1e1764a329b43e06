import type { Message, ToolMessage } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import type { HeldCall } from '../core/held-calls.ts'
import { unknownOutcome } from '../core/unknown-outcome.ts'
import type { HeldResult } from '../stores/contracts.ts'
import { RunRecord } from './run-record.ts'
import type { HeldCalls, ToolCallsOptions } from './tool-calls-services.ts'

/** Keeps the rows of calls while they run: each result as it comes, and at the end what has become of the others. */
export class CallBooks {
  readonly record = new RunRecord()
  /** By the id that the client knows. */
  readonly results = new Map<string, ToolMessage>()
  readonly #services: Pick<ToolCallsOptions, 'stores' | 'metrics'>
  readonly #held: HeldCalls
  readonly #begun = new Set<string>()
  readonly #writing: Promise<void>[] = []

  constructor(services: Pick<ToolCallsOptions, 'stores' | 'metrics'>, held: HeldCalls) {
    this.#services = services
    this.#held = held
  }

  readonly tell = (event: TurnEvent): void => {
    if (event.type === 'tool.start') this.#begun.add(event.callId)
    this.record.tell(event)
    this.#services.metrics.turnEvent(event)
  }

  readonly keep = (message: Message): void => {
    const call = message.role === 'tool' && this.#held.calls.find(({ callId }) => callId === message.callId)
    if (!call || message.role !== 'tool') return
    this.results.set(call.callId, message)
    this.#settle(call, { state: message.isError ? 'failed' : 'succeeded', message })
  }

  /** Rejects when a result could not be written. */
  async close(): Promise<void> {
    for (const call of this.#held.calls) {
      if (!this.results.has(call.callId)) this.#settle(call, this.#outcomeOf(call))
    }
    await Promise.all(this.#writing)
  }

  /** What was begun and did harm if done twice is not known to be done; all else may be asked for again. */
  #outcomeOf({ callId, tool, effect }: HeldCall): HeldResult | undefined {
    return this.#begun.has(callId) && effect === 'write'
      ? { state: 'unknown', message: unknownOutcome(callId, tool) }
      : undefined
  }

  #settle({ id }: HeldCall, result: HeldResult | undefined): void {
    const written = this.#services.stores.calls.settle(this.#held.turn, id, result)
    // Told by `close`, which may come much later.
    written.catch(() => {})
    this.#writing.push(written)
  }
}
