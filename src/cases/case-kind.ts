/** What a kind of cases is to the runner: playing and judging are strictly apart, and only playing needs a gateway. */

export interface Options {
  /** Only cases with one of these numbers, e.g. `003`. */
  readonly only?: readonly string[]
  /** File with expectations. Default: `<folder>-expectations.json` beside the folder, if it is there. */
  readonly expect?: string
  /** How loop cases are played. Default `recorded`. */
  readonly mode?: Mode
}

export type Mode = 'recorded' | 'call' | 'stream'

export interface CaseKind<Case extends { readonly id: string }, Observation> {
  readonly name: string
  /** The cases of a folder, in the order of their names. */
  read(folder: string, options: Options): Promise<readonly Case[]>
  /** Cases of one group can share a gateway; they are played one after another. */
  groupOf(one: Case): string
  /** Starts what the cases of this case's group need. */
  open(one: Case): Promise<Stage<Case, Observation>>
  /** What differs from what the case demands; empty: it passes. Pure, and reads plain data only. */
  judge(one: Case, observation: Observation): readonly string[]
  /** The case with each of its expected values made wrong, one at a time. */
  falsified(one: Case): readonly Falsified<Case>[]
  /** Values in the case's files that look like expected ones and are none, by their path without positions. */
  uncompared?(one: Case): readonly string[]
}

/** A started gateway with its fake upstreams and webhooks. */
export interface Stage<Case, Observation> {
  /** Plays the case; the observation is plain JSON data. Rejects when the case cannot be driven. */
  play(one: Case): Promise<Observation>
  /** Can another case be played on it? */
  isUsable(): boolean
  close(): Promise<void>
}

export interface Falsified<Case> {
  /** Where the value stands, e.g. `expect.usage.total_tokens`. */
  readonly path: string
  readonly case: Case
  /** Why the case may pass nevertheless, where that is known. */
  readonly reason?: string
}

/** What became of a case that was played. */
export type Played<Case, Observation> =
  | { readonly case: Case; readonly observation: Observation }
  | { readonly case: Case; readonly failure: string }
