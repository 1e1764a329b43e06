import type { Delta, ToolCall } from '../core/chat.ts'
import type { Emit, Turn } from '../core/turn.ts'

/**
 * What the client hears of a loop (W12): the text of every round as it comes, a blank line between rounds, no inner
 * call. Where only the last round's text is wanted (`preamble: hide`, a JSON `response_format`) it is held back until
 * the round turns out to be the last.
 */
export class Speaker {
  readonly #emit: Emit | undefined
  readonly #passes: boolean
  readonly #holds: boolean
  #held: Delta[] = []
  /** The last text sent, to see whether a blank line is wanted. */
  #last = ''
  #newRound = false

  constructor(turn: Turn) {
    this.#emit = turn.emit
    this.#passes = !turn.prompt.tools.values().some(tool => tool.run !== undefined)
    this.#holds = !this.#passes && (turn.policy.preamble === 'hide' || wantsJson(turn.prompt.params.response_format))
  }

  /** The listener for one round; absent when nobody listens. */
  round(): Emit | undefined {
    this.#held = []
    this.#newRound = this.#last !== ''
    if (this.#emit === undefined || this.#passes) return this.#emit
    if (this.#holds) return delta => this.#hold(delta)
    // Calls are held back: which of them are the client's is known when all are there.
    return delta => (delta.type === 'call' ? undefined : this.#send(delta))
  }

  /** Sends what the last round held back: its text if it was held, and the client's calls. */
  async end(calls: readonly ToolCall[]): Promise<void> {
    if (this.#emit === undefined || this.#passes) return
    for (const delta of this.#held) await this.#send(delta)
    for (const [index, { id, name, arguments: text, extra }] of calls.entries()) {
      await this.#emit({ type: 'call', index, id, name, arguments: text, ...(extra && { extra }) })
    }
  }

  /** A text of the gateway's own, as a piece. */
  async say(text: string): Promise<void> {
    this.#newRound = this.#last !== ''
    await this.#send({ type: 'text', text })
  }

  #hold(delta: Delta): undefined | Promise<void> {
    if (delta.type === 'reasoning') return this.#emit?.(delta)
    if (delta.type !== 'call') this.#held.push(delta)
    return undefined
  }

  #send(delta: Delta): undefined | Promise<void> {
    const emit = this.#emit
    if (emit === undefined) return undefined
    if (delta.type !== 'text' || delta.text === '') return emit(delta)
    const apart = this.#newRound && !/\s$/.test(this.#last) && !/^\s/.test(delta.text)
    this.#newRound = false
    this.#last = delta.text
    if (!apart) return emit(delta)
    const pause = emit({ type: 'text', text: '\n\n' })
    return pause ? pause.then(() => emit(delta)) : emit(delta)
  }
}

function wantsJson(format: unknown): boolean {
  const type = (format as { type?: unknown } | undefined)?.type
  return type === 'json_object' || type === 'json_schema'
}
