import type { RE2JS } from 're2js'
import type { Found, IndexKind, Searchable } from '../../core/finder.ts'
import type { Named } from './name-table.ts'
import type { Query } from './query.ts'
import type { Ranker } from './ranker.ts'
import { DESCRIPTION, NAME, Scoreboard } from './scoreboard.ts'
import { words } from './words.ts'

/** Scores tools for a query of any form. */
export interface Matcher {
  /** The board is the matcher's own: read it, then clear it, before the next query. */
  run(query: Query, kind: IndexKind): { form: Found['form']; board: Scoreboard }
  /** Rough size of what it keeps, in bytes. */
  readonly bytes: number
}

/** What an exact name counts on top of the best score by words. */
const NAME_BONUS = 50
const PATTERN_NAME = 2
const PATTERN_DESCRIPTION = 1
/** Beyond it a pattern is read as keywords. A linear engine bounds one text, not thousands of them. */
const PATTERN_MS = 100
/** Of a description. Registered tools have at most 1,024. */
const PATTERN_CHARACTERS = 4_000

/** A matcher over these tools; words are scored by the given ranker. */
export function matcher(tools: readonly Searchable[], ranker: Ranker): Matcher {
  const names = tools.map(({ name }) => name)
  const texts = tools.map(({ description = '' }) => description.slice(0, PATTERN_CHARACTERS))
  const board = new Scoreboard(tools.length)
  const byWords = (asked: readonly string[], named: readonly Named[]): void => {
    ranker.rank(asked, board)
    const best = board.highest()
    for (const { tool, weight } of named) board.add(tool, best + NAME_BONUS * weight, NAME)
  }
  const run: Matcher['run'] = (query, kind) => {
    if ('blank' in query) {
      if (kind === 'regex') for (const tool of names.keys()) board.add(tool, 0, 0)
    } else if ('only' in query) {
      // In the order asked for, whatever a name counts.
      for (const [at, { tool }] of query.only.entries()) board.add(tool, NAME_BONUS + query.only.length - at, NAME)
    } else if ('required' in query) {
      ranker.rank(query.words, board)
      board.keepNamed(tool => hasAll(names[tool] as string, query.required, ranker))
    } else if ('pattern' in query) {
      if (matchPattern(query.pattern, names, texts, board)) return { form: 'pattern', board }
      board.clear()
      byWords(query.words, [])
      return { form: 'keywords', board }
    } else {
      byWords(query.words, query.named)
    }
    return { form: query.form, board }
  }
  return { run, bytes: texts.reduce((sum, text) => sum + text.length, names.length * 64) }
}

/** Does the name have all these words, compared as the ranker compares words? */
function hasAll(name: string, required: readonly string[], ranker: Ranker): boolean {
  const own = new Set(words(name).map(word => ranker.key(word)))
  return required.every(word => own.has(ranker.key(word)))
}

/** `false` when it took too long. */
function matchPattern(pattern: RE2JS, names: readonly string[], texts: readonly string[], board: Scoreboard): boolean {
  const deadline = performance.now() + PATTERN_MS
  for (const [tool, name] of names.entries()) {
    if (performance.now() > deadline) return false
    if (pattern.test(name)) board.add(tool, PATTERN_NAME, NAME)
    if (pattern.test(texts[tool] as string)) board.add(tool, PATTERN_DESCRIPTION, DESCRIPTION)
  }
  return true
}
