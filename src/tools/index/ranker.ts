import type { Scoreboard } from './scoreboard.ts'

/** Scores tools by the words of a query: the part in which the kinds of index differ. */
export interface Ranker {
  rank(words: readonly string[], board: Scoreboard): void
  /** What a word of a name is compared by, for `+term`. */
  key(word: string): string
  /** Rough size of what it keeps, in bytes. */
  readonly bytes: number
}
