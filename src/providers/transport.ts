/** How bytes get to a provider and back. One interface, so that another client can take the place of undici. */
import { type Dispatcher, Pool } from 'undici'
import { GatewayError } from '../core/errors.ts'

export interface Transport {
  /**
   * Sends a JSON body. `onHead` is called once, with the head, and says who takes the body. Resolves when the body
   * ended cleanly or its taker had enough. Rejects with the reason of the signal, with what `onHead` or the taker
   * threw, with `upstream_timeout` (`phase`) or `upstream_disconnected`; the connection is destroyed then.
   */
  exchange(request: Outgoing, onHead: (head: Head) => Take): Promise<void>
  /** Ends idle connections; resolves when none is left. */
  close(): Promise<void>
}

export interface Outgoing {
  /** Added to the path of the base URL, e.g. `/chat/completions`. */
  readonly path: string
  /** JSON text. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export interface Head {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Takes the body chunk by chunk. A returned promise pauses the provider until it resolves. */
export type Take = (chunk: Buffer) => Taken

/** `false`: enough, nothing that follows is wanted. */
export type Taken = undefined | false | Promise<undefined | false>

export interface TransportOptions {
  /** The provider's name, for the texts of errors. */
  readonly name: string
  readonly baseUrl: string
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
}

/** Milliseconds. */
export interface Timeouts {
  readonly connectMs: number
  /** From the connection to the head of the answer. */
  readonly firstByteMs: number
  /** Between two chunks of the body. Time in which nobody read does not count. */
  readonly idleMs: number
}

/** How long a connection may take to end an answer that is complete already; it is used again only then. */
const LINGER_MS = 250
const LINGER_BYTES = 65_536

/** A transport over one undici pool: as many connections as there are requests at a time, HTTP/1.1. */
export function httpTransport(options: TransportOptions): Transport {
  const { name, timeouts } = options
  const { origin, pathname, search } = new URL(options.baseUrl)
  const prefix = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    allowH2: false,
    connectTimeout: timeouts.connectMs,
    // Ours hold (contract §10): undici's would end an answer with words of its own.
    headersTimeout: 0,
    bodyTimeout: 0
  })
  return {
    exchange({ path, body, headers, signal }, onHead) {
      return new Promise((resolve, reject) => {
        const exchange = new Exchange({ name, timeouts, signal, onHead, resolve, reject })
        const all = { 'content-type': 'application/json', ...options.headers, ...headers }
        if (signal.aborted) exchange.fail(signal.reason)
        else
          exchange.start(() => {
            pool.dispatch({ method: 'POST', path: `${prefix}${path}${search}`, headers: all, body }, exchange)
          })
      })
    },
    close: () => pool.close()
  }
}

interface ExchangeOptions {
  readonly name: string
  readonly timeouts: Timeouts
  readonly signal: AbortSignal
  readonly onHead: (head: Head) => Take
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Stands in for the options of an exchange that is over. */
const SPENT: ExchangeOptions = {
  name: '',
  timeouts: { connectMs: 0, firstByteMs: 0, idleMs: 0 },
  signal: new AbortController().signal,
  onHead: () => () => false,
  resolve() {},
  reject() {}
}

/** One request on its way: undici's handler, with our timeouts, pausing and ending. */
class Exchange implements Dispatcher.DispatchHandler {
  #options: ExchangeOptions
  #phase: 'connect' | 'first_byte' | 'idle' = 'connect'
  #controller: Dispatcher.DispatchController | undefined
  #take: Take | undefined
  #timer: NodeJS.Timeout | undefined
  /** When the phase's time is up, by `performance.now()`; later than the timer when something came meanwhile. */
  #deadline = 0
  #taking = false
  #ended = false
  #settled = false
  #lingered = 0

  constructor(options: ExchangeOptions) {
    this.#options = options
    options.signal.addEventListener('abort', this, { once: true })
  }

  start(dispatch: () => void): void {
    try {
      dispatch()
    } catch (error) {
      this.fail(error)
    }
    // Unless a connection was free, the request now waits for one.
    if (this.#phase === 'connect' && !this.#settled) this.#arm(this.#options.timeouts.connectMs)
  }

  fail(error: unknown): void {
    if (this.#settled) return
    this.#settle()
    // Also when nothing has come yet: undici calls `onRequestStart` later, which then aborts.
    if (!this.#ended) this.#controller?.abort(new Error('given up'))
    this.#options.reject(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#phase = 'first_byte'
    if (this.#settled) controller.abort(new Error('given up'))
    else this.#arm(this.#options.timeouts.firstByteMs)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Head['headers']): void {
    // 1xx heads only announce the one that counts.
    if (this.#settled || status < 200) return
    this.#phase = 'idle'
    const { firstByteMs, idleMs } = this.#options.timeouts
    // The timer that runs already will find the later deadline; a new one for each head costs more than all else here.
    if (idleMs < firstByteMs) this.#arm(idleMs)
    else this.#touch()
    try {
      this.#take = this.#options.onHead({ status, headers })
    } catch (error) {
      this.fail(error)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) {
      this.#drop(chunk)
      return
    }
    this.#touch()
    try {
      const taken = this.#take?.(chunk)
      if (taken === false) this.#enough()
      else if (taken !== undefined) this.#wait(taken, controller)
    } catch (error) {
      this.fail(error)
    }
  }

  onResponseEnd(): void {
    this.#ended = true
    if (this.#settled) clearTimeout(this.#timer)
    else if (!this.#taking) this.#complete()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#ended = true
    if (this.#settled) clearTimeout(this.#timer)
    else this.fail(disconnected(this.#options.name, this.#phase, error, this.#options.timeouts))
  }

  /** Lets the provider wait until what it sent is taken. */
  #wait(taken: Promise<undefined | false>, controller: Dispatcher.DispatchController): void {
    this.#taking = true
    controller.pause()
    taken.then(
      more => {
        this.#taking = false
        if (this.#settled) return
        if (more === false) this.#enough()
        else if (this.#ended) this.#complete()
        else this.#arm(this.#options.timeouts.idleMs)
        controller.resume()
      },
      error => this.fail(error)
    )
  }

  #complete(): void {
    this.#settle()
    const { resolve } = this.#options
    this.#release()
    resolve()
  }

  /** The pool may hold what is over until a full collection: without this it holds the turn too (24 in place of 13 kB). */
  #release(): void {
    this.#options = SPENT
    this.#take = undefined
    this.#controller = undefined
  }

  /** The answer is complete though the body is not: the connection gets a moment to end it, for its next request. */
  #enough(): void {
    this.#settle()
    this.#timer = setTimeout(() => this.#controller?.abort(new Error('answer complete')), LINGER_MS).unref()
    this.#options.resolve()
  }

  #drop(chunk: Buffer): void {
    this.#lingered += chunk.length
    if (this.#lingered > LINGER_BYTES) this.#controller?.abort(new Error('answer complete'))
  }

  #settle(): void {
    this.#settled = true
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this)
  }

  #touch(): void {
    this.#deadline = performance.now() + this.#options.timeouts.idleMs
  }

  #arm(afterMs: number): void {
    clearTimeout(this.#timer)
    this.#deadline = performance.now() + afterMs
    this.#timer = setTimeout(expire, afterMs, this)
  }

  /** The time of the phase may be up. */
  expire(): void {
    // A slow reader is not an idle provider; when it has taken what there is, the timer begins anew.
    if (this.#taking) return
    // Timers may come up to a millisecond early.
    const leftMs = this.#deadline - performance.now()
    if (leftMs > 1) this.#timer = setTimeout(expire, leftMs, this)
    else this.fail(timedOut(this.#options.name, this.#phase, this.#options.timeouts))
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.fail(this.#options.signal.reason)
  }
}

function expire(exchange: Exchange): void {
  exchange.expire()
}

function timedOut(name: string, phase: 'connect' | 'first_byte' | 'idle', timeouts: Timeouts): GatewayError {
  const texts = {
    connect: `No connection to the provider ${name} within ${timeouts.connectMs} ms.`,
    first_byte: `The provider ${name} did not begin to answer within ${timeouts.firstByteMs} ms.`,
    idle: `The provider ${name} sent nothing for ${timeouts.idleMs} ms before its answer was complete.`
  }
  return new GatewayError('upstream_timeout', texts[phase], { phase, provider: name })
}

function disconnected(
  name: string,
  phase: 'connect' | 'first_byte' | 'idle',
  error: Error,
  timeouts: Timeouts
): GatewayError {
  const code = String((error as NodeJS.ErrnoException).code)
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timedOut(name, 'connect', timeouts)
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    const text = `The provider ${name} did not answer in HTTP.`
    return new GatewayError('upstream_invalid_response', text, { provider: name, cause: error })
  }
  const texts = {
    connect: `The provider ${name} cannot be reached.`,
    first_byte: `The provider ${name} closed the connection without an answer.`,
    idle: `The provider ${name} broke off before its answer was complete.`
  }
  return new GatewayError('upstream_disconnected', texts[phase], { provider: name, cause: error })
}
