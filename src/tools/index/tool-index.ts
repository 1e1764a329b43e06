import type { Found, Hit, Searchable, SearchOptions, ToolView } from '../../core/finder.ts'
import { lexical } from './lexical.ts'
import { type Matcher, matcher } from './matcher.ts'
import { nameTable } from './name-table.ts'
import { readQuery } from './query.ts'
import type { Ranker } from './ranker.ts'
import { DESCRIPTION, NAME, PARAMETERS, type Scoreboard } from './scoreboard.ts'
import { wholeWords } from './whole-words.ts'

export interface ToolIndex extends ToolView {
  /** Rough size of what it keeps, in bytes. */
  readonly bytes: number
}

/** An index of the gateway's own. */
export interface BuiltInIndex extends ToolIndex {
  search(query: string, options: SearchOptions): Found
}

export type BuiltInKind = 'lexical' | 'regex'

const rankers: Readonly<Record<BuiltInKind, (tools: readonly Searchable[]) => Ranker>> = { lexical, regex: wholeWords }

/** An index over these tools, in their order. It never changes; searching never throws, whatever the text. */
export function buildIndex(kind: BuiltInKind, tools: readonly Searchable[]): BuiltInIndex {
  const names = tools.map(({ name }) => name)
  const groups = tools.map(({ group }) => group)
  const table = nameTable(names)
  const ranker = rankers[kind](tools)
  const match: Matcher = matcher(tools, ranker)
  return {
    kind,
    groups: [...new Set(groups.filter(group => group !== undefined))].sort(),
    bytes: ranker.bytes + table.bytes + match.bytes,
    search(text, { maxResults, group }) {
      const query = readQuery(text, kind, table)
      const { form, board } = match.run(query, kind)
      const best = board.best(maxResults, tool => group === undefined || groups[tool] === group)
      const results = best.map(tool => hitOf(names[tool] as string, tool, board))
      board.clear()
      return { form, results }
    }
  }
}

function hitOf(name: string, tool: number, { scores, fields }: Scoreboard): Hit {
  const marks = fields[tool] as number
  return {
    name,
    score: Math.round((scores[tool] as number) * 10_000) / 10_000,
    matched: [
      ...(marks & NAME ? (['name'] as const) : []),
      ...(marks & DESCRIPTION ? (['description'] as const) : []),
      ...(marks & PARAMETERS ? (['parameters'] as const) : [])
    ]
  }
}
