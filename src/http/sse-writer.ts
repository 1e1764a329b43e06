import type { ServerResponse } from 'node:http'
import type { FrameSink } from './frame-sink.ts'

export interface SseWriterOptions {
  /** Of the turn: a wait ends when it is aborted. */
  readonly signal: AbortSignal
  /** Silence after which a comment is sent, in milliseconds; absent: never. */
  readonly keepaliveMs?: number
  /** Told how many bytes are held while the client does not read. */
  readonly onBuffered: (bytes: number) => void
}

/** Characters collected before a write does not wait for the end of the tick. */
const MAX_PENDING = 32_768

/**
 * Writes frames to a response whose head is set. Frames of one tick leave in one write (1.2 in place of 2.4 µs each,
 * spec/dependencies.md §5). `write` returns a promise while the client does not read; it settles on drain, on close
 * and on abort, whichever is first. What comes after the end or after the client left is dropped.
 */
export class SseWriter implements FrameSink {
  readonly #raw: ServerResponse
  readonly #options: SseWriterOptions
  readonly #keepalive: NodeJS.Timeout | undefined
  #pending = ''
  #isScheduled = false
  #isClosed = false
  #gate: PromiseWithResolvers<void> | undefined

  constructor(raw: ServerResponse, options: SseWriterOptions) {
    this.#raw = raw
    this.#options = options
    const { keepaliveMs, signal } = options
    if (keepaliveMs !== undefined) this.#keepalive = setTimeout(() => this.#beat(), keepaliveMs).unref()
    raw.on('drain', this.#drained)
    raw.once('close', this.#left)
    // Without a listener a write to a socket that has just gone would end the process.
    raw.on('error', this.#left)
    signal.addEventListener('abort', this.#aborted, { once: true })
  }

  /** `undefined`: go on. A promise: wait for it; it rejects with the signal's reason when the turn was aborted. */
  write(frames: string): undefined | Promise<void> {
    if (this.#isClosed) return undefined
    this.#pending += frames
    if (this.#gate) return this.#gate.promise
    if (this.#pending.length >= MAX_PENDING) {
      this.#flush()
      return (this.#gate as PromiseWithResolvers<void> | undefined)?.promise
    }
    if (!this.#isScheduled) {
      this.#isScheduled = true
      process.nextTick(this.#tick)
    }
    return undefined
  }

  /** A comment frame is the one keepalive that every reader takes (W3). Bytes that wait to be read are no silence. */
  comment(): void {
    if (this.#isClosed || this.#gate !== undefined) return
    void this.write(': ka\n\n')
  }

  /** Sends the last frames and closes. The client may still be reading when it returns; nothing waits for that. */
  end(frames: string): void {
    if (this.#isClosed) return
    const rest = this.#pending + frames
    this.#close()
    this.#raw.end(rest)
  }

  readonly #tick = (): void => {
    this.#isScheduled = false
    if (!this.#isClosed && this.#gate === undefined && this.#pending !== '') this.#flush()
  }

  #flush(): void {
    const frames = this.#pending
    this.#pending = ''
    this.#keepalive?.refresh()
    if (this.#raw.write(frames)) return
    this.#options.onBuffered(this.#raw.writableLength)
    this.#gate = Promise.withResolvers<void>()
    // Nobody may be waiting when it rejects.
    this.#gate.promise.catch(() => {})
  }

  #beat(): void {
    this.comment()
    this.#keepalive?.refresh()
  }

  readonly #drained = (): void => {
    const gate = this.#gate
    if (gate === undefined) return
    this.#gate = undefined
    if (this.#pending !== '') this.#flush()
    const next = this.#gate as PromiseWithResolvers<void> | undefined
    if (next) next.promise.then(gate.resolve, gate.reject)
    else gate.resolve()
  }

  readonly #aborted = (): void => {
    this.#gate?.reject(this.#options.signal.reason)
  }

  readonly #left = (): void => {
    if (this.#isClosed) return
    this.#close()
  }

  #close(): void {
    this.#isClosed = true
    this.#pending = ''
    clearTimeout(this.#keepalive)
    this.#raw.off('drain', this.#drained)
    this.#options.signal.removeEventListener('abort', this.#aborted)
    // The turn's signal tells whoever waits that the client has gone; a promise left open would hold the turn.
    this.#gate?.resolve()
    this.#gate = undefined
  }
}
