import type { Delta, Tool } from '../core/chat.ts'
import type { Emit } from '../core/turn.ts'

/**
 * What a client hears of one attempt before it is judged: its reasoning. Where no tool is the gateway's, the first call
 * shows that the answer will not be judged, and from then on all is heard as it comes: arguments go on streaming.
 */
export class Listener {
  /** Absent when nobody listens. */
  readonly emit: Emit | undefined
  readonly #out: Emit | undefined
  readonly #isOneRound: boolean
  #held: Delta[] = []
  #isOpen = false
  #hasReasoned = false

  constructor(out: Emit | undefined, tools: ReadonlyMap<string, Tool>) {
    this.#out = out
    this.#isOneRound = !tools.values().some(tool => tool.run !== undefined)
    this.emit = out && (delta => this.#hear(out, delta))
  }

  /** Nothing is left to be sent. */
  get hasHeardAll(): boolean {
    return this.#out === undefined || this.#isOpen
  }

  get hasHeardReasoning(): boolean {
    return this.#hasReasoned
  }

  #hear(out: Emit, delta: Delta): undefined | Promise<void> {
    if (this.#isOpen) return out(delta)
    if (delta.type === 'reasoning') {
      this.#hasReasoned = true
      return out(delta)
    }
    if (!this.#isOneRound) return undefined
    this.#held.push(delta)
    if (delta.type !== 'call') return undefined
    this.#isOpen = true
    return this.#flush(out)
  }

  async #flush(out: Emit): Promise<void> {
    for (const delta of this.#held.splice(0)) await out(delta)
  }
}
