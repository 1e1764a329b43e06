import type { RE2JS } from 're2js'
import type { IndexKind } from '../../core/finder.ts'
import type { Named, NameTable } from './name-table.ts'
import { patternOf } from './pattern.ts'
import { words } from './words.ts'

const MAX_CHARACTERS = 2_000
/** Of a list of names, and of words after `+`. Rankers have the same bound for the terms they count. */
const MAX_TERMS = 64

/** What a search text asks for, by the form it has (contract §5). */
export type Query =
  /** Nothing was written. */
  | { readonly form: 'keywords'; readonly blank: true }
  /** Words, and the tools that some of them name. */
  | { readonly form: 'keywords' | 'names'; readonly words: readonly string[]; readonly named: readonly Named[] }
  /** `select:a,b`: these tools and no others, in the order asked for. */
  | { readonly form: 'names'; readonly only: readonly Named[] }
  /** `+term`: words that must be in the name; all words rank. */
  | { readonly form: 'required'; readonly words: readonly string[]; readonly required: readonly string[] }
  /** The words are what it is read as when matching takes too long. */
  | { readonly form: 'pattern'; readonly pattern: RE2JS; readonly words: readonly string[] }

/** Reads a search text of any length and content; what it cannot make sense of it takes for keywords. */
export function readQuery(text: string, kind: IndexKind, names: NameTable): Query {
  const query = text.slice(0, MAX_CHARACTERS).trim()
  if (query === '') return { form: 'keywords', blank: true }
  if (/^select:/i.test(query)) return { form: 'names', only: selected(query.slice('select:'.length), names) }
  const pattern = patternOf(query, kind === 'regex')
  if (pattern !== undefined) return { form: 'pattern', pattern, words: words(query) }
  const required = requiredWords(query)
  if (required.length > 0) return { form: 'required', words: words(query), required }
  const { named, all } = namedIn(query, names)
  return { form: all ? 'names' : 'keywords', words: words(query), named }
}

function requiredWords(query: string): string[] {
  const required = query.split(/\s+/).filter(part => part.startsWith('+'))
  return [...new Set(required.flatMap(part => words(part)))].slice(0, MAX_TERMS)
}

function selected(list: string, names: NameTable): Named[] {
  const found = new Map<number, Named>()
  for (const part of list.split(/[,;|]/).slice(0, MAX_TERMS)) {
    const whole = names.find(part)
    const each = whole.length > 0 ? whole : part.split(/\s+/).flatMap(name => names.find(name))
    for (const named of each.toSorted((a, b) => b.weight - a.weight)) {
      if (!found.has(named.tool)) found.set(named.tool, named)
    }
  }
  return [...found.values()]
}

/**
 * The tools that the query as a whole names, or each word of it does (`all`: nothing but names); else those that
 * words name which look like identifiers, since `order` in a sentence is no name.
 */
function namedIn(query: string, names: NameTable): { named: readonly Named[]; all: boolean } {
  const whole = names.find(query)
  if (whole.length > 0) return { named: whole, all: true }
  const parts = [...new Set(query.split(/[\s,;|"'`]+/).map(bare))].filter(part => part !== '').slice(0, MAX_TERMS)
  const byPart = parts.map(part => names.find(part))
  const all = byPart.length > 0 && byPart.every(named => named.length > 0)
  return { named: byPart.filter((_, at) => all || looksLikeName(parts[at] as string)).flat(), all }
}

/** Without the punctuation of a sentence, so that `order.` at its end is not taken for a name. */
function bare(part: string): string {
  return part.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, '')
}

function looksLikeName(part: string): boolean {
  return /[_./:-]|[a-z][A-Z]/.test(part)
}
