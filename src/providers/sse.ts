/** Reads server-sent events leniently, whoever wrote them: spec/wire.md §2.3, items 1 and 2. */
import type { Taken } from './transport.ts'

/** One event: its data lines joined by LF, and its name when it had one. `false`: enough, nothing after it counts. */
export type TakeEvent = (data: string, name: string | undefined) => Taken

const LF = 10
const CR = 13
const COLON = 58
const SPACE = 32
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const DATA = Buffer.from('data')
const EVENT = Buffer.from('event')
/** No provider sends an event of this size; what does is not a stream of events. Bytes. */
const MAX_EVENT = 64 * 1024 * 1024

/**
 * Bytes in, cut anywhere; events out, one at a time. Lines end in LF, CR LF or CR. Works on bytes, since no byte of a
 * longer UTF-8 character looks like a line end: a line is decoded once, whole, and no character is ever cut.
 * Events without data, comments, `id`, `retry` and unknown fields are skipped. Throws `TooLarge` when one event exceeds
 * 64 MiB.
 */
export class SseReader {
  static readonly TooLarge = class extends RangeError {}
  readonly #take: TakeEvent
  /** Bytes not yet made into lines, from `#at` on; `#seen`: up to there no line end was found. */
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #seen = 0
  /** Whether a CR is among the bytes; providers send LF alone, and then only LF is looked for. */
  #hasCr = false
  /** The last line ended in CR, so an LF right after it belongs to it. */
  #afterCr = false
  #begun = false
  #data: string | undefined
  #name: string | undefined

  constructor(take: TakeEvent) {
    this.#take = take
  }

  /** Resolves, or returns `undefined`, when the events of these bytes were taken; `false` when the reader has enough. */
  write(chunk: Buffer): Taken {
    const rest = this.#bytes.length - this.#at
    if (rest + chunk.length > MAX_EVENT) throw new SseReader.TooLarge('The event is too large.')
    this.#bytes = rest === 0 ? chunk : Buffer.concat([this.#bytes.subarray(this.#at), chunk])
    this.#at = 0
    this.#seen = rest
    this.#hasCr = this.#bytes.includes(CR)
    if (!this.#begun && !this.#begin()) return undefined
    return this.#drain()
  }

  /** The body ended cleanly: what is pending counts as an event. */
  end(): Taken {
    if (this.#at < this.#bytes.length) this.#line(this.#at, this.#bytes.length)
    this.#bytes = Buffer.alloc(0)
    this.#at = 0
    return this.#dispatch()
  }

  /** Drops one byte order mark; `false` while it may still be cut in two. */
  #begin(): boolean {
    const { length } = this.#bytes
    let same = 0
    while (same < 3 && same < length && this.#bytes[same] === BOM[same]) same++
    if (same === length && same < 3) return false
    if (same === 3) this.#at = 3
    this.#seen = this.#at
    this.#begun = true
    return true
  }

  #drain(): Taken {
    for (;;) {
      const end = this.#lineEnd()
      if (end === -1) return undefined
      const start = this.#at
      this.#at = this.#seen = end + 1
      if (end > start) this.#line(start, end)
      else {
        const taken = this.#dispatch()
        if (taken === false) return false
        if (taken !== undefined) return taken.then(more => (more === false ? false : this.#drain()))
      }
    }
  }

  /** Where the line that begins at `#at` ends, or -1. Skips the LF of a CR LF. */
  #lineEnd(): number {
    const bytes = this.#bytes
    if (this.#afterCr && this.#at < bytes.length) {
      this.#afterCr = false
      if (bytes[this.#at] === LF) this.#at++
      if (this.#seen < this.#at) this.#seen = this.#at
    }
    const lf = bytes.indexOf(LF, this.#seen)
    const cr = this.#hasCr ? bytes.indexOf(CR, this.#seen) : -1
    if (cr !== -1 && (lf === -1 || cr < lf)) {
      this.#afterCr = true
      return cr
    }
    if (lf === -1) this.#seen = bytes.length
    return lf
  }

  #line(start: number, end: number): void {
    const bytes = this.#bytes
    const colon = bytes[start + 4] === COLON ? start + 4 : bytes.subarray(start, end).indexOf(COLON) + start
    if (colon === start) return
    const nameEnd = colon < start || colon >= end ? end : colon
    let from = Math.min(nameEnd + 1, end)
    if (from < end && bytes[from] === SPACE) from++

    if (nameEnd - start === 4 && isAt(bytes, start, DATA)) {
      const text = bytes.toString('utf8', from, end)
      this.#data = this.#data === undefined ? text : `${this.#data}\n${text}`
    } else if (nameEnd - start === 5 && isAt(bytes, start, EVENT)) {
      this.#name = bytes.toString('utf8', from, end)
    }
  }

  #dispatch(): Taken {
    const data = this.#data
    const name = this.#name
    this.#data = this.#name = undefined
    return data ? this.#take(data, name) : undefined
  }
}

function isAt(bytes: Buffer, start: number, word: Buffer): boolean {
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word[at]) return false
  return true
}
