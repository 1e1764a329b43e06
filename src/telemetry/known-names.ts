const UNKNOWN = 'unknown'

/**
 * Keeps a label bounded: clients write model names, and a pattern such as `gpt-*` lets any of them through. A name
 * counts from when it is declared, or when it has been shown to exist; at most `max` of the latter.
 */
export class KnownNames {
  readonly #names = new Set<string>()
  readonly #max: number
  #seen = 0

  constructor({ max }: { max: number }) {
    this.#max = max
  }

  /** Names of the configuration; not counted against the bound. */
  declare(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name)
  }

  /** A name that an upstream answered to. */
  saw(name: string): void {
    if (this.#seen >= this.#max || this.#names.has(name)) return
    this.#names.add(name)
    this.#seen++
  }

  /** The name as a label: itself, or `unknown`. */
  label(name: string): string {
    return this.#names.has(name) ? name : UNKNOWN
  }
}
