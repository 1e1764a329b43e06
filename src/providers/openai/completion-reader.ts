/**
 * Makes an answer of OpenAI chat completions, whole or in chunks: one reader for streams, JSON bodies and the simulator
 * (spec/wire.md §2.3).
 */
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { Answer, AssistantMessage, Choice, Delta, Fields, Finish, Usage } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { ulid } from '../../core/ids.ts'
import { isFields } from '../../core/is-fields.ts'
import type { Turn } from '../../core/turn.ts'
import type { Taken } from '../transport.ts'
import { upstreamFailure } from '../upstream-failure.ts'
import { ChoiceReader } from './choice-reader.ts'
import { finishOf } from './finish.ts'
import { usageOf } from './usage.ts'
import { wireCall } from './wire-call.ts'

/** The wire types' fields, none of which a provider can be trusted to send, or to send rightly. */
type Loose<T> = { readonly [K in keyof T]?: unknown } & Fields
type Wire = Loose<ChatCompletion | ChatCompletionChunk> & Fields

/** Beside the choices, what OpenAI's clients know and what search providers add. */
const FORWARDED = ['system_fingerprint', 'service_tier', 'moderation', 'citations'] as const

export class CompletionReader {
  readonly #turn: Turn
  readonly #name: string
  readonly #choice: ChoiceReader
  /** How many choices were asked for; others are not read, whoever sends them. */
  readonly #wanted: number
  readonly #others = new Map<number, ChoiceReader | Fields>()
  /** Pieces that were read and not yet sent on. */
  readonly #pieces: Delta[] = []
  #sent = 0
  #fields: Record<string, unknown> | undefined
  #usage: Usage | undefined
  #done = false

  /** Pieces go to `turn.emit`, if there is one. `name`: the provider's, for the texts of errors. */
  constructor(turn: Turn, name: string) {
    this.#turn = turn
    this.#name = name
    const { n } = turn.prompt.params
    this.#wanted = typeof n === 'number' ? n : 1
    this.#choice = new ChoiceReader(turn.emit === undefined ? ignore : delta => void this.#pieces.push(delta))
  }

  /** The last usage that was reported; each one takes the place of the one before. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  /** Reads one chunk, or a completion that came whole. Throws when it reports a failure. */
  read(wire: unknown, event?: string): Taken {
    if (!isFields(wire)) throw this.#invalid('sent an event that is not an object')
    if (wire.error || event === 'error' || wire.error_message || wire.error_type) throw this.#failure(wire)
    this.#readFields(wire)
    const usage = wire.usage ? usageOf(wire.usage) : undefined
    if (usage !== undefined) this.#usage = usage
    if (Array.isArray(wire.choices)) this.#readChoices(wire.choices)
    return this.#pieces.length === 0 ? undefined : this.#flush()
  }

  /** Says that the provider marked its end by `[DONE]`. */
  done(): void {
    this.#done = true
  }

  /** The answer, once the body has ended. Throws when the answer is cut off, empty or unusable. */
  finish(): Answer | Promise<Answer> {
    const word = this.#choice.finish
    if (word === undefined && !this.#done) {
      throw new GatewayError(
        'upstream_disconnected',
        `The provider ${this.#name} stopped before its answer was complete.`,
        {
          provider: this.#name
        }
      )
    }
    const label = word === undefined ? 'stop' : this.#labelOf(word)
    const { calls, ...said } = this.#choice.end()
    if (calls === undefined && label !== 'length') throw this.#invalid('called a tool without naming it')
    const message: AssistantMessage = { role: 'assistant', id: `msg_${ulid()}`, ...said, calls: calls ?? [] }
    if (isEmpty(message)) {
      if (word === undefined) throw this.#invalid('sent an empty answer; the prompt may be too long for the model')
      this.#turn.tell({ type: 'note', note: 'empty_answer' })
    }
    const answer = this.#answer(message, label, word)
    const pause = this.#flush()
    return pause === undefined ? answer : pause.then(() => answer)
  }

  #answer(message: AssistantMessage, finish: Finish, finishReason: string | undefined): Answer {
    const choice = this.#beside()
    return {
      message,
      messages: [message],
      finish,
      ...(finishReason !== undefined && { finishReason }),
      offered: this.#turn.prompt.tools,
      ...(this.#usage && { usage: this.#usage }),
      ...(choice && { choice })
    }
  }

  #beside(): Choice | undefined {
    const { logprobs } = this.#choice
    if (logprobs === undefined && this.#fields === undefined && this.#others.size === 0) return undefined
    const others = [...this.#others].sort(([a], [b]) => a - b)
    return {
      ...(logprobs && { logprobs }),
      ...(this.#fields && { fields: this.#fields }),
      ...(others.length > 0 && { others: others.map(([index, other]) => asChoice(index, other)) })
    }
  }

  #readChoices(choices: readonly unknown[]): void {
    for (const choice of choices) {
      if (!isFields(choice)) continue
      const index = typeof choice.index === 'number' ? choice.index : 0
      if (index !== 0 && !this.#isWanted(index)) continue
      if (choice.error) throw this.#failure(choice)
      if (index === 0) this.#choice.read(choice)
      else if (isFields(choice.message)) this.#others.set(index, choice)
      else this.#otherAt(index).read(choice)
    }
  }

  #isWanted(index: number): boolean {
    return Number.isInteger(index) && index > 0 && index < this.#wanted
  }

  #otherAt(index: number): ChoiceReader {
    const known = this.#others.get(index)
    if (known instanceof ChoiceReader) return known
    const reader = new ChoiceReader(ignore)
    this.#others.set(index, reader)
    return reader
  }

  #readFields(wire: Wire): void {
    for (const key of FORWARDED) {
      const value = wire[key]
      if (value === undefined || value === null) continue
      this.#fields ??= {}
      this.#fields[key] = value
    }
  }

  /** Sends on what was read, in order, one after another when the listener asks for time. */
  #flush(): Promise<undefined> | undefined {
    const { emit } = this.#turn
    while (this.#sent < this.#pieces.length) {
      const pause = emit?.(this.#pieces[this.#sent++] as Delta)
      if (pause !== undefined) return pause.then(() => this.#flush())
    }
    this.#pieces.length = this.#sent = 0
    return undefined
  }

  #labelOf(word: string): 'stop' | 'length' | 'content_filter' {
    const label = finishOf(word)
    if (label === 'error') {
      throw new GatewayError('upstream_error', `The provider ${this.#name} failed in the middle of its answer.`, {
        provider: this.#name
      })
    }
    if (label !== undefined) return label
    const { id: turn, log } = this.#turn
    log.warn({ event: 'upstream.unknown_finish', turn, provider: this.#name, finish: word.slice(0, 40) })
    return 'stop'
  }

  #failure(body: unknown): GatewayError {
    return upstreamFailure({ name: this.#name, body })
  }

  #invalid(did: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `The provider ${this.#name} ${did}.`, { provider: this.#name })
  }
}

function ignore(): void {}

/** Reasoning alone is no answer. */
function isEmpty({ content, calls, refusal, extra }: AssistantMessage): boolean {
  return content === '' && calls.length === 0 && !refusal && extra?.audio === undefined
}

function asChoice(index: number, other: ChoiceReader | Fields): Fields {
  if (!(other instanceof ChoiceReader)) return other
  const { content, calls, reasoning, refusal, extra } = other.end()
  return {
    index,
    message: {
      role: 'assistant',
      content: content === '' ? null : content,
      refusal: refusal ?? null,
      ...(reasoning && { [reasoning.field]: reasoning.text }),
      ...extra,
      ...(calls && calls.length > 0 && { tool_calls: calls.map(wireCall) })
    },
    logprobs: other.logprobs ?? null,
    finish_reason: other.finish ?? null
  }
}
