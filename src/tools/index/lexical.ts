import type { Searchable } from '../../core/finder.ts'
import { lexicalPostings, type Postings } from './lexical-postings.ts'
import type { Ranker } from './ranker.ts'
import type { Scoreboard } from './scoreboard.ts'
import { SYNONYMS } from './synonyms.ts'
import { termOf } from './terms.ts'

const MAX_TERMS = 64
const SYNONYM_WEIGHT = 0.25
/** A tool that has all terms of the query counts up to twice as much as by its terms alone. */
const COORDINATION = 1
/** A term that the query says more than once. */
const REPEATED = 1.3

const synonyms = synonymsByTerm()

/**
 * BM25F over name, description, parameter names and parameter descriptions, with stemming, synonyms at a quarter of
 * the weight, and a premium on tools that have many of the query's terms. There is no least score.
 */
export function lexical(tools: readonly Searchable[]): Ranker {
  const postings = lexicalPostings(tools)
  const hits = new Uint8Array(tools.length)
  return {
    key: word => termOf(word) ?? word,
    bytes: bytesOf(postings) + tools.length,
    rank(words, board) {
      const asked = countTerms(words)
      for (const [term, times] of asked) {
        addTerm(postings, term, times > 1 ? REPEATED : 1, board, hits)
        for (const other of synonyms.get(term) ?? []) {
          if (!asked.has(other)) addTerm(postings, other, SYNONYM_WEIGHT, board)
        }
      }
      for (const tool of board.touched) {
        const share = (hits[tool] as number) / asked.size
        board.scores[tool] = (board.scores[tool] as number) * (1 + COORDINATION * share)
        hits[tool] = 0
      }
    }
  }
}

function countTerms(words: readonly string[]): Map<string, number> {
  const asked = new Map<string, number>()
  for (const word of words) {
    const term = termOf(word)
    if (term === undefined || (asked.size === MAX_TERMS && !asked.has(term))) continue
    asked.set(term, (asked.get(term) ?? 0) + 1)
  }
  return asked
}

function addTerm(postings: Postings, term: string, weight: number, board: Scoreboard, hits?: Uint8Array): void {
  const id = postings.terms.get(term)
  if (id === undefined) return
  const end = postings.starts[id + 1] as number
  for (let at = postings.starts[id] as number; at < end; at++) {
    const tool = postings.tools[at] as number
    board.add(tool, (postings.scores[at] as number) * weight, postings.fields[at] as number)
    if (hits) hits[tool] = (hits[tool] as number) + 1
  }
}

function synonymsByTerm(): ReadonlyMap<string, ReadonlySet<string>> {
  const byTerm = new Map<string, Set<string>>()
  for (const group of SYNONYMS) {
    const terms = new Set(group.split(' ').map(word => termOf(word) ?? word))
    for (const term of terms) {
      const others = byTerm.get(term) ?? new Set()
      for (const other of terms) if (other !== term) others.add(other)
      byTerm.set(term, others)
    }
  }
  return byTerm
}

function bytesOf({ terms, starts, tools, scores, fields }: Postings): number {
  // About what V8 takes for a short string and its entry in a map.
  return terms.size * 80 + starts.byteLength + tools.byteLength + scores.byteLength + fields.byteLength
}
