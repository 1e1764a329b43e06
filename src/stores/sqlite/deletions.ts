/** So many are remembered; a turn that runs while as many sessions are deleted may bring back its own. */
const MAX_DELETIONS = 10_000

/**
 * Which sessions were deleted, and when, by the clock of `Session.since`. In memory is enough: turns that could bring
 * one back end with the process.
 */
export class Deletions {
  readonly #times = new Map<string, number>()

  add(sessionKey: string): void {
    this.#times.delete(sessionKey)
    this.#times.set(sessionKey, performance.now())
    if (this.#times.size > MAX_DELETIONS) this.#times.delete(this.#times.keys().next().value as string)
  }

  /** To be called when the deletion came to nothing. */
  forget(sessionKey: string): void {
    this.#times.delete(sessionKey)
  }

  /** Was the session, or the one whose branch it is, deleted after this turn began? */
  isOver({
    key,
    root = key,
    since
  }: {
    readonly key: string
    readonly root?: string
    readonly since?: number
  }): boolean {
    if (this.#times.size === 0 || since === undefined) return false
    const time = this.#times.get(root)
    return time !== undefined && since < time
  }
}
