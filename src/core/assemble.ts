import type { AssistantMessage, Delta, Fields, ToolCall } from './chat.ts'

/** Puts pieces together again: one assembler for streams and for whatever else sends pieces. */
export class Assembly {
  #text = ''
  #refusal = ''
  #reasoning = ''
  #reasoningField = 'reasoning_content'
  #fields: Record<string, unknown> | undefined
  readonly #calls = new Map<number, { id: string; name: string; arguments: string; extra?: Fields }>()

  add(delta: Delta): void {
    switch (delta.type) {
      case 'text':
        this.#text += delta.text
        break
      case 'refusal':
        this.#refusal += delta.text
        break
      case 'reasoning':
        this.#reasoning += delta.text
        this.#reasoningField = delta.field
        break
      case 'fields':
        this.#fields = { ...this.#fields, ...delta.fields }
        break
      case 'call': {
        const call = this.#calls.get(delta.index) ?? { id: '', name: '', arguments: '' }
        if (delta.id) call.id ||= delta.id
        if (delta.name) call.name ||= delta.name
        call.arguments += delta.arguments
        if (delta.extra) call.extra = { ...call.extra, ...delta.extra }
        this.#calls.set(delta.index, call)
      }
    }
  }

  /** The text so far. */
  get text(): string {
    return this.#text
  }

  /** The message so far, under the given id; calls in the order of their indexes. */
  message(id: string): AssistantMessage {
    const calls: ToolCall[] = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call)
    return {
      role: 'assistant',
      id,
      content: this.#text,
      calls,
      ...(this.#reasoning && { reasoning: { text: this.#reasoning, field: this.#reasoningField } }),
      ...(this.#refusal && { refusal: this.#refusal }),
      ...(this.#fields && { extra: this.#fields })
    }
  }
}
