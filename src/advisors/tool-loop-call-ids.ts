import type { Message, ToolCall } from '../core/chat.ts'
import { randomText } from '../core/ids.ts'
import type { Emit } from '../core/turn.ts'

/**
 * The ids that the calls of one round go by: those the model gave, unless they are blank or stand in the history
 * already. With `areMinted` none keeps its own, so that a client that names no session can be known by them
 * (contract §4.2). A call whose head was sent has that id for good.
 */
export class CallIds {
  readonly #history: readonly Message[]
  readonly #areMinted: boolean
  #taken: Set<string> | undefined
  /** By position in the answer, which is the index of its pieces. */
  readonly #ids = new Map<number, string>()

  constructor(history: readonly Message[], areMinted: boolean) {
    this.#history = history
    this.#areMinted = areMinted
  }

  /** A listener that hears of each call under its id. */
  heardBy(emit: Emit): Emit {
    return delta => {
      if (delta.type !== 'call' || this.#ids.has(delta.index)) return emit(delta)
      return emit({ ...delta, id: this.#assign(delta.index, delta.id ?? '') })
    }
  }

  /** The calls of the answer, in order, under their ids; the same each time. */
  given(calls: readonly ToolCall[]): readonly ToolCall[] {
    return calls.map((call, at) => {
      const id = this.#ids.get(at) ?? this.#assign(at, call.id)
      return id === call.id ? call : { ...call, id }
    })
  }

  #assign(index: number, own: string): string {
    this.#taken ??= takenIn(this.#history)
    const id = own !== '' && !this.#areMinted && !this.#taken.has(own) ? own : `call_${randomText(26)}`
    this.#taken.add(id)
    this.#ids.set(index, id)
    return id
  }
}

function takenIn(history: readonly Message[]): Set<string> {
  return new Set(history.flatMap(message => (message.role === 'assistant' ? message.calls.map(({ id }) => id) : [])))
}
