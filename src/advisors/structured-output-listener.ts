import type { AssistantMessage, Delta } from '../core/chat.ts'
import { hasGatewayTool } from '../core/has-gateway-tool.ts'
import type { Emit, Turn } from '../core/turn.ts'

/**
 * What a client hears of one attempt before it is judged: its reasoning. Where the gateway runs no tool by itself, the
 * first call shows that the answer will not be judged, and from then on all is heard as it comes: arguments go on
 * streaming.
 */
export class Listener {
  /** The turn as the attempt is to see it. */
  readonly turn: Turn
  readonly #isOneRound: boolean
  #held: Delta[] = []
  #isOpen = false
  #hasReasoned = false

  constructor(turn: Turn) {
    const { emit, prompt, policy } = turn
    this.#isOneRound = policy.toolExecution === 'manual' || !hasGatewayTool(prompt.tools)
    this.turn = emit === undefined ? turn : { ...turn, ...this.#between(turn, emit) }
  }

  /** What is left to be sent of the finished message, as a message. */
  unheard(message: AssistantMessage): AssistantMessage {
    const { role, id, reasoning: _, ...others } = message
    if (this.#isOpen) return { role, id, content: '', calls: [] }
    return this.#hasReasoned ? { role, id, ...others } : message
  }

  #between({ tell }: Turn, out: Emit): Pick<Turn, 'emit' | 'tell' | 'textIsHeld'> {
    return {
      textIsHeld: true,
      emit: delta => this.#hear(out, delta),
      tell: event => {
        // What was held of a model call that failed will come again; of earlier rounds nothing is wanted (W12).
        if (event.type === 'retry' || event.type === 'round.start') this.#held = []
        tell(event)
      }
    }
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
