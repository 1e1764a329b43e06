import { readFile } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'

const MAX_TURNS = 10_000

/** One scripted answer of the model `sim-script` (contract §10). */
export type Entry = Readonly<Record<string, unknown>>

/**
 * Where each turn stands in its script. The place is the number of model calls so far, failed ones included, which the
 * messages of a turn do not show; so it is kept, for the 10,000 turns that asked last.
 */
export class Script {
  readonly #file: string | undefined
  readonly #places = new Map<string, number>()
  #fromFile: Promise<unknown> | undefined

  /** `file`: a JSON list of entries for turns that bring none. */
  constructor(file?: string) {
    this.#file = file
  }

  /** The turn's next entry; `undefined` when the script is used up. `rounds`: model calls that its messages show. */
  async next(turnId: string, rounds: number, own: unknown): Promise<Entry | undefined> {
    const entries = own ?? (await this.#read())
    if (!Array.isArray(entries)) {
      throw new GatewayError('invalid_request', 'The script of sim-script must be a list of answers.', {
        param: 'loopgate.script'
      })
    }
    const place = Math.max(this.#places.get(turnId) ?? 0, rounds)
    this.#keep(turnId, place + 1)
    const entry = entries[place]
    if (entry === undefined) return undefined
    if (typeof entry !== 'object' || entry === null) {
      throw new GatewayError('invalid_request', 'Each answer in the script of sim-script must be an object.', {
        param: `loopgate.script[${place}]`
      })
    }
    return entry as Entry
  }

  #keep(turnId: string, place: number): void {
    this.#places.delete(turnId)
    this.#places.set(turnId, place)
    const oldest = this.#places.keys().next()
    if (this.#places.size > MAX_TURNS && !oldest.done) this.#places.delete(oldest.value)
  }

  #read(): Promise<unknown> {
    if (this.#file === undefined) return Promise.resolve([])
    const file = this.#file
    this.#fromFile ??= readFile(file, 'utf8').then(JSON.parse)
    return this.#fromFile.catch(error => {
      this.#fromFile = undefined
      const text = 'The script file of the simulator cannot be read; see sim.script_file.'
      throw new GatewayError('internal', text, { cause: error })
    })
  }
}
