import type { Answer, Delta, Fields } from '../../core/chat.ts'
import type { GatewayError } from '../../core/errors.ts'
import { type AnswerHead, besideChoices, passedOn } from './encode.ts'
import { errorBody } from './errors.ts'
import { FINISH_REASON } from './finish.ts'
import { SerialCalls } from './serial-calls.ts'
import { encodeUsage } from './usage.ts'

/**
 * Writes one answer as `chat.completion.chunk` frames that every official reader takes (rules W4–W10, W12, W13).
 * Each method returns the frames to send now; `''` means none. The constant head and tail of a chunk are made once:
 * a piece of text costs one `JSON.stringify` of the text.
 */
export class ChunkWriter {
  readonly #open: string
  readonly #delta: string
  readonly #close: string
  readonly #calls = new SerialCalls(delta => this.#chunk(delta))

  /** `includeUsage`: `stream_options.include_usage` of the request. */
  constructor(head: AnswerHead, { includeUsage = false }: { readonly includeUsage?: boolean } = {}) {
    const { id, created, model } = head
    const constant = JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)
    this.#open = `data: ${constant},"choices":[`
    this.#delta = `${this.#open}{"index":0,"delta":`
    this.#close = includeUsage ? '],"usage":null}\n\n' : ']}\n\n'
  }

  /** The first chunk: the role, once. */
  start(): string {
    return this.#chunk('{"role":"assistant","content":""}')
  }

  delta(delta: Delta): string {
    switch (delta.type) {
      case 'text':
        return delta.text === '' && delta.logprobs === undefined ? '' : this.#said('content', delta)
      case 'refusal':
        return this.#said('refusal', delta)
      case 'reasoning':
        return delta.text === '' ? '' : this.#chunk(`{"reasoning_content":${JSON.stringify(delta.text)}}`)
      case 'call':
        return this.#calls.add(delta)
      case 'fields': {
        const fields = passedOn(delta.fields)
        return fields ? this.#chunk(JSON.stringify(fields)) : ''
      }
    }
  }

  /** Something that happened, for `include: ["events"]`. */
  event(event: Fields): string {
    return `${this.#open}],"loopgate":${JSON.stringify({ event })}${this.#close.slice(1)}`
  }

  /**
   * What is left of the answer: calls that waited for their turn, the finish, usage, `loopgate`, `[DONE]`.
   * Throws `upstream_invalid_response` when what was sent of the calls cannot be made good.
   */
  end(answer: Answer, loopgate?: Fields): string {
    const calls = this.#calls.end(answer.message.calls)
    const others = (answer.choice?.others ?? []).map(choice => this.#other(choice)).join('')
    return `${calls}${this.#finish(answer)}${others}${this.#last(answer, loopgate)}data: [DONE]\n\n`
  }

  /** A failure after the head: this and nothing more (W10). */
  error(error: GatewayError): string {
    return `data: ${errorBody(error)}\n\n`
  }

  #chunk(delta: string, logprobs?: unknown): string {
    const marks = logprobs === undefined ? '' : `,"logprobs":${JSON.stringify(logprobs)}`
    return `${this.#delta}${delta}${marks},"finish_reason":null}${this.#close}`
  }

  #said(field: 'content' | 'refusal', { text, logprobs }: { text: string; logprobs?: unknown }): string {
    return this.#chunk(`{"${field}":${JSON.stringify(text)}}`, logprobs)
  }

  #finish(answer: Answer): string {
    const beside = besideChoices(answer)
    const fields = beside ? `,${JSON.stringify(beside).slice(1, -1)}` : ''
    return `${this.#delta}{},"finish_reason":"${FINISH_REASON[answer.finish]}"}]${fields}${this.#close.slice(1)}`
  }

  /** Choices 1, 2, … come whole: the canonical form has one answer, the provider's others ride along. */
  #other(choice: Fields): string {
    const { index, message, logprobs, finish_reason } = choice
    const { tool_calls, ...said } = (message ?? {}) as { tool_calls?: readonly object[] }
    const calls = tool_calls?.map((call, nth) => ({ index: nth, ...call }))
    const delta = { role: 'assistant', ...said, ...(calls && { tool_calls: calls }) }
    const whole = { index, delta, ...(logprobs ? { logprobs } : undefined), finish_reason: null }
    const end = { index, delta: {}, finish_reason: finish_reason ?? 'stop' }
    return `${this.#open}${JSON.stringify(whole)}${this.#close}${this.#open}${JSON.stringify(end)}${this.#close}`
  }

  /** The chunk with `choices: []`: usage if it was asked for and is known, and what the gateway has to say. */
  #last({ usage }: Answer, loopgate: Fields | undefined): string {
    const isAsked = this.#close.includes('usage')
    const shown = isAsked && usage ? encodeUsage(usage) : undefined
    if (!shown && !loopgate) return ''
    const fields = { ...(isAsked && { usage: shown ?? null }), ...(loopgate && { loopgate }) }
    return `${this.#open}],${JSON.stringify(fields).slice(1)}\n\n`
  }
}
