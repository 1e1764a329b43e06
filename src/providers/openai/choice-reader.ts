import type { AssistantMessage, Delta, Fields, ToolCall } from '../../core/chat.ts'
import { isFields } from '../../core/is-fields.ts'
import { CallReader } from './calls.ts'
import { mergeFields } from './merge-fields.ts'

/** What a message or a delta says that has a place of its own here; all else is carried unread. */
const READ = new Set([
  'role',
  'content',
  'refusal',
  'reasoning_content',
  'reasoning',
  'tool_calls',
  'function_call',
  'obfuscation'
])

/** Reads one choice of a completion or of its chunks, and hands on the pieces. */
export class ChoiceReader {
  readonly #emit: (delta: Delta) => void
  readonly #calls: CallReader
  #text = ''
  #refusal = ''
  #reasoning = ''
  #reasoningField = 'reasoning_content'
  #extra: Fields | undefined
  #logprobs: Fields | undefined
  #finish: string | undefined

  constructor(emit: (delta: Delta) => void) {
    this.#emit = emit
    this.#calls = new CallReader(emit)
  }

  /** The last finish reason that was given, as the provider wrote it. */
  get finish(): string | undefined {
    return this.#finish
  }

  get logprobs(): Fields | undefined {
    return this.#logprobs
  }

  read(choice: Fields): void {
    const whole = isFields(choice.message)
    const delta = whole ? choice.message : choice.delta
    const logprobs = isFields(choice.logprobs) ? choice.logprobs : undefined
    if (logprobs !== undefined) this.#logprobs = mergeFields(this.#logprobs, logprobs)
    if (isFields(delta)) this.#readMessage(delta, whole, logprobs)
    else if (logprobs !== undefined) this.#say('', logprobs)
    // Old servers write whole texts.
    if (typeof choice.text === 'string' && !isFields(delta)) this.#say(choice.text, undefined)
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') this.#finish = choice.finish_reason
  }

  /** What the choice came to; `calls` is `undefined` when one of them has no name. */
  end(): Omit<AssistantMessage, 'role' | 'id' | 'calls'> & { readonly calls: readonly ToolCall[] | undefined } {
    return {
      content: this.#text,
      calls: this.#calls.end(),
      ...(this.#reasoning && { reasoning: { text: this.#reasoning, field: this.#reasoningField } }),
      ...(this.#refusal && { refusal: this.#refusal }),
      ...(this.#extra && { extra: this.#extra })
    }
  }

  #readMessage(message: Fields, whole: boolean, logprobs: Fields | undefined): void {
    this.#readReasoning(message)
    let rest = logprobs
    const text = textOf(message.content)
    if (text !== '') {
      this.#say(text, rest)
      rest = undefined
    }
    if (typeof message.refusal === 'string' && message.refusal !== '') {
      this.#refusal += message.refusal
      this.#emit({ type: 'refusal', text: message.refusal, ...(rest && { logprobs: rest }) })
      rest = undefined
    }
    if (rest !== undefined) this.#say('', rest)
    this.#readExtra(message)
    if (message.tool_calls) this.#calls.read(message.tool_calls, whole)
    else if (isFields(message.function_call)) {
      this.#calls.read([{ index: 0, type: 'function', function: message.function_call }], whole)
    }
  }

  #say(text: string, logprobs: Fields | undefined): void {
    this.#text += text
    this.#emit(logprobs === undefined ? { type: 'text', text } : { type: 'text', text, logprobs })
  }

  /** Servers that know both names send the same text under both. */
  #readReasoning(message: Fields): void {
    for (const field of ['reasoning_content', 'reasoning']) {
      const text = message[field]
      if (typeof text !== 'string' || text === '') continue
      this.#reasoning += text
      this.#reasoningField = field
      this.#emit({ type: 'reasoning', text, field })
      return
    }
  }

  #readExtra(message: Fields): void {
    let extra: Record<string, unknown> | undefined
    for (const key in message) {
      if (READ.has(key) || message[key] === null || message[key] === undefined) continue
      extra ??= {}
      extra[key] = message[key]
    }
    if (extra === undefined) return
    this.#extra = mergeFields(this.#extra, extra)
    this.#emit({ type: 'fields', fields: extra })
  }
}

/** A string, or the text parts of a list (some servers write those). */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => (isFields(part) && typeof part.text === 'string' ? part.text : '')).join('')
}
