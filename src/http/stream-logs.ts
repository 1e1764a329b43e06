import { StreamLog, type StreamOwner } from './stream-log.ts'

/** Characters kept of all streams that have ended. */
const MAX_ENDED = 67_108_864

/** The streams of this process that can be read again: those that run, and those that ended a short time ago. */
export class StreamLogs {
  readonly #keepMs: number
  readonly #logs = new Map<string, StreamLog>()
  /** Oldest first. */
  readonly #ended = new Map<StreamLog, NodeJS.Timeout>()

  /** `keepMs`: how long one is kept after its end (`stream.resume_keep_ms`). */
  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** The log of a turn that begins, or goes on with another request: its numbers then go on too. */
  open(owner: StreamOwner): StreamLog {
    const earlier = this.#logs.get(owner.turnId)
    if (earlier) this.#drop(earlier)
    const log = new StreamLog(owner, earlier?.last)
    this.#logs.set(owner.turnId, log)
    return log
  }

  get(turnId: string): StreamLog | undefined {
    return this.#logs.get(turnId)
  }

  /** The turn is over: its frames are kept for a time, the oldest go first where there are too many. */
  ended(log: StreamLog): void {
    log.end()
    if (this.#logs.get(log.owner.turnId) !== log) return
    this.#ended.set(log, setTimeout(() => this.#drop(log), this.#keepMs).unref())
    let length = 0
    for (const each of this.#ended.keys()) length += each.length
    for (const oldest of this.#ended.keys()) {
      if (length <= MAX_ENDED) break
      length -= oldest.length
      this.#drop(oldest)
    }
  }

  #drop(log: StreamLog): void {
    clearTimeout(this.#ended.get(log))
    this.#ended.delete(log)
    if (this.#logs.get(log.owner.turnId) === log) this.#logs.delete(log.owner.turnId)
  }
}
