import type { Answer, Usage } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { isDeeperThan } from '../../core/json-depth.ts'
import type { Turn } from '../../core/turn.ts'
import { retryAfterMs } from '../retry-after.ts'
import { SseReader } from '../sse.ts'
import type { Head, Take, Taken } from '../transport.ts'
import { upstreamFailure } from '../upstream-failure.ts'
import { CompletionReader } from './completion-reader.ts'

const MAX_ERROR_BYTES = 65_536
const MAX_JSON_BYTES = 64 * 1024 * 1024
/** Levels of nesting. What is deeper would be read, but not written again: whoever writes JSON does so by recursion. */
const MAX_DEPTH = 512

/**
 * Reads the answer of a provider. What it is, a stream of events or one JSON body, is told by its content type and not
 * by what was asked for; a body that begins with a brace is JSON whatever it is called.
 */
export class AnswerReader {
  readonly #name: string
  readonly #signal: AbortSignal
  readonly #completion: CompletionReader
  #head: Head | undefined
  #sse: SseReader | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  #isJson: boolean | undefined
  #done = false

  constructor(turn: Turn, name: string) {
    this.#name = name
    this.#signal = turn.signal
    this.#completion = new CompletionReader(turn, name)
  }

  get status(): number | undefined {
    return this.#head?.status
  }

  get usage(): Usage | undefined {
    return this.#completion.usage
  }

  /** Decides by the head who takes the body. */
  open(head: Head): Take {
    this.#head = head
    if (head.status < 200 || head.status > 299) return chunk => this.#keep(chunk, MAX_ERROR_BYTES, true)
    const type = String(head.headers['content-type'] ?? '').toLowerCase()
    const encoding = String(head.headers['content-encoding'] ?? 'identity').toLowerCase()
    if (encoding !== 'identity') throw this.#invalid('compressed its answer though it was asked not to')
    if (type.includes('text/html')) throw this.#invalid('answered with a page; its operator must check base_url')
    if (type.includes('json')) this.#isJson = true
    return chunk => this.#take(chunk)
  }

  /** The answer, after the body has ended cleanly. */
  finish(): Answer | Promise<Answer> {
    const { status = 0 } = this.#head ?? {}
    if (status < 200 || status > 299) throw this.#rejection()
    if (this.#isJson !== true && !this.#done && this.#sse !== undefined) {
      const rest = this.#sse.end()
      if (rest instanceof Promise) return rest.then(() => this.#completion.finish())
      return this.#completion.finish()
    }
    if (this.#isJson === true) return this.#finishJson()
    return this.#completion.finish()
  }

  /** What a failed exchange failed with: a status says more than a body of an error that broke off. */
  instead(error: unknown): unknown {
    const { status = 200 } = this.#head ?? {}
    return status > 299 && !this.#signal.aborted && error instanceof GatewayError ? this.#rejection() : error
  }

  #take(chunk: Buffer): Taken {
    if (this.#isJson === undefined) this.#isJson = beginsWithBrace(chunk)
    if (this.#isJson) return this.#keep(chunk, MAX_JSON_BYTES, false)
    this.#sse ??= new SseReader((data, event) => this.#event(data, event))
    try {
      return this.#sse.write(chunk)
    } catch (error) {
      throw error instanceof SseReader.TooLarge ? this.#invalid('sent an event that is too large') : error
    }
  }

  #event(data: string, event: string | undefined): Taken {
    if (data.length < 32 && data.trim() === '[DONE]') {
      this.#done = true
      this.#completion.done()
      return false
    }
    return this.#completion.read(this.#parsed(data, event), event)
  }

  #parsed(data: string, event: string | undefined): unknown {
    if (isDeeperThan(data, MAX_DEPTH)) throw this.#invalid('sent an event that is nested too deeply')
    try {
      return JSON.parse(data)
    } catch {
      // What an error event says is not worth more than that there was one.
      if (event === 'error') return {}
      throw this.#invalid('sent an event that is not valid JSON')
    }
  }

  #keep(chunk: Buffer, maxBytes: number, mayCut: boolean): Taken {
    this.#bytes += chunk.length
    if (this.#bytes > maxBytes) {
      if (mayCut) return false
      throw this.#invalid('sent an answer that is too large')
    }
    this.#chunks.push(chunk)
    return undefined
  }

  #text(): string {
    const [first] = this.#chunks
    const bytes = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)
    const text = bytes.toString('utf8')
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }

  #finishJson(): Answer | Promise<Answer> {
    const text = this.#text()
    if (isDeeperThan(text, MAX_DEPTH)) throw this.#invalid('sent an answer that is nested too deeply')
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      throw this.#invalid('sent an answer that is not valid JSON')
    }
    const read = this.#completion.read(body)
    // A body that is whole needs no other mark of its end, but what has no choice 0 has no answer.
    if (hasMessage(body)) this.#completion.done()
    else throw this.#invalid('sent an answer without choices')
    if (read instanceof Promise) return read.then(() => this.#completion.finish())
    return this.#completion.finish()
  }

  #rejection(): GatewayError {
    let body: unknown
    try {
      body = JSON.parse(this.#text())
    } catch {
      body = undefined
    }
    const { status, headers } = this.#head as Head
    return upstreamFailure({ name: this.#name, status, retryAfterMs: retryAfterMs(headers), body })
  }

  #invalid(did: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `The provider ${this.#name} ${did}.`, { provider: this.#name })
  }
}

function beginsWithBrace(chunk: Buffer): boolean {
  let at = chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? 3 : 0
  while (chunk[at] === 32 || chunk[at] === 9 || chunk[at] === 10 || chunk[at] === 13) at++
  return chunk[at] === 123
}

function hasMessage(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    'choices' in body &&
    Array.isArray(body.choices) &&
    body.choices.length > 0
  )
}
