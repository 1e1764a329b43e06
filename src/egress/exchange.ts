import type { Dispatcher } from 'undici'
import { EgressRefused } from './egress-refused.ts'

export interface Outgoing {
  readonly dispatcher: Dispatcher
  readonly origin: string
  readonly path: string
  readonly headers: string[]
  readonly body: string
}

export interface ExchangeLimits {
  /** Milliseconds since the epoch; nothing that comes in puts it off. */
  readonly deadline: number
  /** Aborted: the connection is closed and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Reading stops here. */
  readonly maxBytes: number
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export type Exchange =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Headers
      readonly body: Buffer
      /** There was more than `maxBytes`. */
      readonly cut: boolean
    }
  /** `refused`: by the egress guard. `unreachable`: no connection. Nothing was sent in either case. */
  | { readonly kind: 'refused' | 'unreachable' }
  | { readonly kind: 'timeout'; readonly sent: boolean }
  /** The connection broke before an answer began. */
  | { readonly kind: 'reset' }
  /** The connection broke within an answer that had begun. */
  | { readonly kind: 'broken' }
  /** What came is no HTTP. */
  | { readonly kind: 'malformed' }

/** Of answers that mean failure no more is read: their message is short or of no use. */
const MAX_FAILURE_BYTES = 65_536

/** Sends one POST and reads its answer, within limits that the other side cannot stretch. No redirect is followed. */
export function exchange(outgoing: Outgoing, limits: ExchangeLimits): Promise<Exchange> {
  return new Exchanging(limits).start(outgoing)
}

class Exchanging implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits
  readonly #result = Promise.withResolvers<Exchange>()
  readonly #chunks: Buffer[] = []
  /** Until the answer is at its end, and with it the use of the connection. */
  #controller: Dispatcher.DispatchController | undefined
  #sent = false
  #timer: NodeJS.Timeout | undefined
  #settled = false
  #status = 0
  #headers: Headers = {}
  #length = 0

  constructor(limits: ExchangeLimits) {
    this.#limits = limits
  }

  start({ dispatcher, ...request }: Outgoing): Promise<Exchange> {
    const { deadline, signal } = this.#limits
    if (signal?.aborted) return Promise.reject(signal.reason)
    signal?.addEventListener('abort', this.#left)
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, deadline - Date.now()))
    dispatcher.dispatch({ ...request, method: 'POST' }, this)
    return this.#result.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#sent = true
    // Given up while the connection was being made: nothing is sent.
    if (this.#settled) controller.abort(new Error('The call was given up.'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    const max = this.#maxBytes()
    const room = max - this.#length
    this.#length += chunk.length
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    if (this.#length > max) this.#settle(this.#answer(true))
  }

  onResponseEnd(): void {
    this.#controller = undefined
    this.#settle(this.#answer(false))
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#settle(this.#failure(error))
  }

  #maxBytes(): number {
    return this.#status < 300 ? this.#limits.maxBytes : Math.min(MAX_FAILURE_BYTES, this.#limits.maxBytes)
  }

  #answer(cut: boolean): Exchange {
    return { kind: 'answer', status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks), cut }
  }

  #failure(error: Error): Exchange {
    if (!this.#sent) return { kind: error instanceof EgressRefused ? 'refused' : 'unreachable' }
    // The status of a failure says all; the rest of its body is not missed.
    if (this.#status >= 300) return this.#answer(true)
    if (this.#status > 0 && isEndTooSoon(error)) return { kind: 'broken' }
    if (isMalformed(error)) return { kind: 'malformed' }
    return { kind: this.#status > 0 ? 'broken' : 'reset' }
  }

  #expire(): void {
    this.#settle(this.#status >= 300 ? this.#answer(true) : { kind: 'timeout', sent: this.#sent })
  }

  /** A property, so that it can be taken off the signal again. */
  readonly #left = (): void => {
    if (this.#finish()) this.#result.reject(this.#limits.signal?.reason)
  }

  #settle(result: Exchange): void {
    if (this.#finish()) this.#result.resolve(result)
  }

  /** Once, whatever comes first; a connection that is not at its end is closed. */
  #finish(): boolean {
    if (this.#settled) return false
    this.#settled = true
    clearTimeout(this.#timer)
    this.#limits.signal?.removeEventListener('abort', this.#left)
    this.#controller?.abort(new Error('The call is over.'))
    return true
  }
}

/** Also what is said of a head with two lengths. */
const TOO_SHORT = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'

/** The body stopped before the length it announced, or in the midst of its chunks. */
function isEndTooSoon(error: Error & { code?: unknown }): boolean {
  return error.code === TOO_SHORT || error.message.includes('Invalid EOF state')
}

function isMalformed(error: Error & { code?: unknown }): boolean {
  const code = typeof error.code === 'string' ? error.code : ''
  const known = ['UND_ERR_HEADERS_OVERFLOW', TOO_SHORT, 'UND_ERR_RES_EXCEEDED_MAX_SIZE']
  // Not every error of the parser has a code.
  return error.name === 'HTTPParserError' || known.includes(code) || /^bad (?:upgrade|response)/.test(error.message)
}
