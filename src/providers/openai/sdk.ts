/** The vendor's own package as the transport: for its sign-in schemes, not for speed. */
import type OpenAI from 'openai'
import type { APIError } from 'openai'
import { Agent, fetch } from 'undici'
import { GatewayError } from '../../core/errors.ts'
import type { Head, Take, Timeouts, Transport } from '../transport.ts'

export interface SdkOptions {
  readonly name: string
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
}

type Package = typeof import('openai')

/** A transport that signs in and sends by the package `openai`, which is loaded with the first request. */
export function sdkTransport(options: SdkOptions): Transport {
  const { name, timeouts } = options
  const agent = new Agent({ allowH2: false, connectTimeout: timeouts.connectMs, headersTimeout: 0, bodyTimeout: 0 })
  let loading: Promise<{ client: OpenAI; sdk: Package }> | undefined

  return {
    async exchange({ path, body, headers, signal }, onHead) {
      signal.throwIfAborted()
      loading ??= load(options, agent)
      const { client, sdk } = await loading
      const clock = new Clock(name, timeouts, signal)
      try {
        const sent = client.post(path, {
          body,
          // A text is sent as it is only when its type is given.
          headers: { ...headers, 'content-type': 'application/json' },
          signal: clock.signal
        })
        const response = await sent.asResponse().catch(error => answerOf(error, sdk, clock))
        clock.headCame()
        await passOn(response, onHead, clock)
      } finally {
        clock.stop()
      }
    },
    close: () => agent.close()
  }
}

async function load(options: SdkOptions, dispatcher: Agent): Promise<{ client: OpenAI; sdk: Package }> {
  const sdk = await import('openai')
  const client = new sdk.default({
    apiKey: options.apiKey ?? 'none',
    baseURL: options.baseUrl.replace(/\/+$/, ''),
    // Without a key of ours none is sent, whatever the environment holds.
    defaultHeaders: { ...(options.apiKey === undefined && { authorization: null }), ...options.headers },
    // Retries are the chain's, and so is every word that is logged.
    maxRetries: 0,
    logLevel: 'off',
    timeout: 2 ** 31 - 1,
    // Both of the same undici: mixing them is a known error.
    fetch: fetch as unknown as typeof globalThis.fetch,
    fetchOptions: { dispatcher } as object
  })
  return { client, sdk }
}

/** The package makes an error of a status that is not 2xx: here it becomes an answer again. */
function answerOf(error: unknown, sdk: Package, clock: Clock): Response {
  if (!(error instanceof sdk.APIError) || error.status === undefined) throw clock.why(error)
  const { status, headers, error: body } = error as APIError<number, Headers>
  return new Response(written(body), { status, headers: plain(headers) })
}

/** What is nested too deeply to be written says no more than its status. */
function written(error: unknown): string {
  try {
    return JSON.stringify({ error: error ?? null })
  } catch {
    return '{"error":null}'
  }
}

/** The body is made anew, so what describes the old one does not hold. */
function plain(headers: Headers): Headers {
  const copy = new Headers(headers)
  for (const name of ['content-length', 'content-encoding', 'content-type']) copy.delete(name)
  copy.set('content-type', 'application/json')
  return copy
}

async function passOn(response: Response, onHead: (head: Head) => Take, clock: Clock): Promise<void> {
  const take = onHead({ status: response.status, headers: Object.fromEntries(response.headers) })
  const body = response.body?.getReader()
  if (body === undefined) return
  try {
    for (;;) {
      const { done, value } = await body.read().catch(error => {
        throw clock.why(error)
      })
      if (done) return
      clock.pause()
      const taken = await take(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      if (taken === false) return
      clock.goOn()
    }
  } finally {
    // Also after a clean end, where it does nothing; a body given up destroys its connection.
    body.cancel().catch(() => {})
  }
}

/** The timeouts of one exchange, and the signal that ends it. */
class Clock {
  readonly #name: string
  readonly #timeouts: Timeouts
  readonly #from: AbortSignal
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout

  constructor(name: string, timeouts: Timeouts, from: AbortSignal) {
    this.#name = name
    this.#timeouts = timeouts
    this.#from = from
    from.addEventListener('abort', this.#abort, { once: true })
    // The package does not say when it is connected.
    const firstMs = timeouts.connectMs + timeouts.firstByteMs
    this.#timer = setTimeout(() => this.#expire('first_byte', `did not begin to answer within ${firstMs} ms`), firstMs)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the exchange broke off: because we ended it, or because of the wire. */
  why(error: unknown): unknown {
    if (this.#controller.signal.aborted) return this.#controller.signal.reason
    const text = `The provider ${this.#name} cannot be reached, or broke off before its answer was complete.`
    return new GatewayError('upstream_disconnected', text, { provider: this.#name, cause: error })
  }

  headCame(): void {
    clearTimeout(this.#timer)
    this.goOn()
  }

  goOn(): void {
    const { idleMs } = this.#timeouts
    const text = `sent nothing for ${idleMs} ms before its answer was complete`
    this.#timer = setTimeout(() => this.#expire('idle', text), idleMs)
  }

  pause(): void {
    clearTimeout(this.#timer)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#from.removeEventListener('abort', this.#abort)
  }

  #expire(phase: 'first_byte' | 'idle', did: string): void {
    const detail = { phase, provider: this.#name }
    this.#controller.abort(new GatewayError('upstream_timeout', `The provider ${this.#name} ${did}.`, detail))
  }

  readonly #abort = (): void => this.#controller.abort(this.#from.reason)
}
