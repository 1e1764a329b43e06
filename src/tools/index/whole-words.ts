import type { Searchable } from '../../core/finder.ts'
import type { Ranker } from './ranker.ts'
import { DESCRIPTION, NAME } from './scoreboard.ts'
import { words } from './words.ts'

const MAX_TERMS = 64
const NAME_WEIGHT = 2
const DESCRIPTION_WEIGHT = 1

/** The keywords of the `regex` kind: each word of the query that stands whole in a name counts 2, in a description 1. */
export function wholeWords(tools: readonly Searchable[]): Ranker {
  const having = new Map<string, Map<number, number>>()
  let entries = 0
  const mark = (text: string, tool: number, field: number): void => {
    for (const word of words(text)) {
      const of = having.get(word) ?? new Map<number, number>()
      having.set(word, of)
      of.set(tool, (of.get(tool) ?? 0) | field)
    }
  }
  for (const [position, { name, description }] of tools.entries()) {
    mark(name, position, NAME)
    mark(description ?? '', position, DESCRIPTION)
  }
  for (const of of having.values()) entries += of.size
  return {
    key: word => word,
    bytes: having.size * 200 + entries * 24,
    rank(asked, board) {
      for (const word of [...new Set(asked)].slice(0, MAX_TERMS)) {
        for (const [tool, fields] of having.get(word) ?? []) {
          const weight = (fields & NAME ? NAME_WEIGHT : 0) + (fields & DESCRIPTION ? DESCRIPTION_WEIGHT : 0)
          board.add(tool, weight, fields)
        }
      }
    }
  }
}
