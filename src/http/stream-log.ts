import type { Principal } from '../core/principal.ts'

/** Whose stream it is. */
export interface StreamOwner {
  readonly turnId: string
  readonly tenant: string
  readonly keyId: Principal['key']
}

/** Frames from one on, as far as they are there. */
export interface StreamPart {
  /** With their ids; `''`: none yet. */
  readonly frames: string
  /** Number of the last of them; that it was asked after, where there is none. */
  readonly last: number
  /** Nothing comes after them. */
  readonly isOver: boolean
}

/** Characters of frames kept of one turn; beyond it the oldest go. */
const MAX_LENGTH = 8_388_608
/** Characters of a part, or those of its one frame: a reader is not given more than it reads. */
const PART_LENGTH = 65_536

/**
 * The frames of one turn's stream, numbered from 1, so that a client that lost its connection can read on (contract
 * §3.5). Comments have no number and are not kept. What a slow reader has not read is held here once, for all readers.
 */
export class StreamLog {
  readonly owner: StreamOwner
  /** Number of the frame before the first of this request. */
  readonly start: number
  readonly #frames: string[] = []
  /** Number of the frame before the first that is kept. */
  #before: number
  #length = 0
  #isOver = false
  #changed: PromiseWithResolvers<void> | undefined

  /** `before`: number of the last frame that an earlier request of the same turn was sent. */
  constructor(owner: StreamOwner, before = 0) {
    this.owner = owner
    this.start = before
    this.#before = before
  }

  /** Number of the newest frame. */
  get last(): number {
    return this.#before + this.#frames.length
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Characters that are kept. */
  get length(): number {
    return this.#length
  }

  /** Keeps the frames; returns them with their ids. Comments among them stay as they are. */
  append(frames: string): string {
    let numbered = ''
    for (const frame of frames.split('\n\n')) {
      if (frame === '') continue
      numbered += frame.startsWith(':') ? `${frame}\n\n` : this.#keep(frame)
    }
    this.#tell()
    return numbered
  }

  /** Nothing comes after this. */
  end(): void {
    this.#isOver = true
    this.#tell()
  }

  /** The next frames after the one of this number. `dropped`: they are not kept any more. */
  after(number: number): StreamPart | 'dropped' {
    if (number < this.#before) return 'dropped'
    let frames = ''
    let last = number
    for (let at = number - this.#before; at < this.#frames.length && frames.length < PART_LENGTH; at++, last++) {
      frames += this.#frames[at]
    }
    return { frames, last, isOver: this.#isOver && last >= this.last }
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    this.#changed ??= Promise.withResolvers<void>()
    return this.#changed.promise
  }

  #keep(frame: string): string {
    const { turnId } = this.owner
    const numbered = `id: ${turnId}:${this.last + 1}\n${frame}\n\n`
    this.#frames.push(numbered)
    this.#length += numbered.length
    while (this.#length > MAX_LENGTH && this.#frames.length > 1) {
      this.#length -= this.#frames.shift()?.length ?? 0
      this.#before++
    }
    return numbered
  }

  #tell(): void {
    this.#changed?.resolve()
    this.#changed = undefined
  }
}
