import type { Searchable } from '../../core/finder.ts'
import { ownParameters } from '../../core/own-parameters.ts'
import { parameterTexts } from './parameter-texts.ts'
import { DESCRIPTION, NAME, PARAMETERS } from './scoreboard.ts'
import { termOf } from './terms.ts'
import { words } from './words.ts'

/** BM25F: how much a field counts, and how much its length matters. Flat optima of the evaluation. */
const FIELDS = [
  { weight: 3, b: 0.3, mark: NAME },
  { weight: 1, b: 0.6, mark: DESCRIPTION },
  { weight: 0.6, b: 0.7, mark: PARAMETERS },
  { weight: 0.3, b: 0.7, mark: PARAMETERS }
] as const
const K1 = 1.2
/** Words of Han and kana have about two characters, and each character is a term here. */
const CJK_LENGTH = 0.5

/** Who has which term, and what it counts there. The entries of term `t` are `starts[t]` to `starts[t + 1]`. */
export interface Postings {
  readonly terms: ReadonlyMap<string, number>
  readonly starts: Uint32Array
  readonly tools: Uint32Array
  readonly scores: Float32Array
  readonly fields: Uint8Array
}

/** Reads all tools once and lays the scores of every term out in flat arrays. */
export function lexicalPostings(tools: readonly Searchable[]): Postings {
  const read = readAll(tools)
  const rows = weigh(read, tools.length)
  return layOut(rows, read.terms, tools.length)
}

interface Read {
  readonly terms: Map<string, number>
  /** Terms of all fields of all tools, one after the other. */
  readonly stream: readonly number[]
  /** Terms in field `f` of tool `t`, at `t * 4 + f`. */
  readonly counts: Uint32Array
  /** The same as a length in words. */
  readonly lengths: Float64Array
}

function readAll(tools: readonly Searchable[]): Read {
  const terms = new Map<string, number>()
  // Raw words to terms, so that a word is stemmed and looked up once and not at every place it stands.
  const known = new Map<string, number>()
  const stream: number[] = []
  const lengths = new Float64Array(tools.length * FIELDS.length)
  const counts = new Uint32Array(tools.length * FIELDS.length)
  const idOf = (word: string): number => {
    const term = termOf(word)
    if (term === undefined) return -1
    const id = terms.get(term) ?? terms.size
    terms.set(term, id)
    return id
  }
  const read = (text: string, field: number): void => {
    for (const word of words(text)) {
      let id = known.get(word)
      if (id === undefined) {
        id = idOf(word)
        known.set(word, id)
      }
      if (id === -1) continue
      stream.push(id)
      lengths[field] = (lengths[field] as number) + (isCjk(word) ? CJK_LENGTH : 1)
      counts[field] = (counts[field] as number) + 1
    }
  }
  for (const [position, tool] of tools.entries()) {
    const first = position * FIELDS.length
    const { names, descriptions } = parameterTexts(ownParameters(tool))
    read(tool.name, first)
    read(tool.description ?? '', first + 1)
    for (const name of names) read(name, first + 2)
    for (const description of descriptions) read(description, first + 3)
  }
  return { terms, stream, counts, lengths }
}

/** One row for each term of each tool, tools in order. */
interface Rows {
  readonly terms: number[]
  readonly tools: number[]
  readonly scores: number[]
  readonly fields: number[]
}

function weigh({ terms, stream, counts, lengths }: Read, count: number): Rows {
  const average = FIELDS.map((_, field) => Math.max(1, sumOfField(lengths, field) / count))
  const rows: Rows = { terms: [], tools: [], scores: [], fields: [] }
  const frequency = new Float64Array(terms.size)
  const marks = new Uint8Array(terms.size)
  let at = 0
  for (let tool = 0; tool < count; tool++) {
    const touched: number[] = []
    for (const [field, { weight, b, mark }] of FIELDS.entries()) {
      const length = lengths[tool * FIELDS.length + field] as number
      const each = weight / (1 - b + (b * length) / (average[field] as number))
      for (const end = at + (counts[tool * FIELDS.length + field] as number); at < end; at++) {
        const term = stream[at] as number
        if (marks[term] === 0) touched.push(term)
        frequency[term] = (frequency[term] as number) + each
        marks[term] = (marks[term] as number) | mark
      }
    }
    for (const term of touched) {
      const value = frequency[term] as number
      rows.terms.push(term)
      rows.tools.push(tool)
      rows.scores.push((value * (K1 + 1)) / (value + K1))
      rows.fields.push(marks[term] as number)
      frequency[term] = 0
      marks[term] = 0
    }
  }
  return rows
}

function isCjk(word: string): boolean {
  return word.length === 1 && word >= '\u3040'
}

function sumOfField(lengths: Float64Array, field: number): number {
  let sum = 0
  for (let at = field; at < lengths.length; at += FIELDS.length) sum += lengths[at] as number
  return sum
}

/** Sorts the rows by term by counting, which keeps the tools of a term in order, and weighs them by rarity. */
function layOut(rows: Rows, terms: Map<string, number>, count: number): Postings {
  const starts = new Uint32Array(terms.size + 1)
  for (const term of rows.terms) starts[term + 1] = (starts[term + 1] as number) + 1
  const rarity = Float64Array.from({ length: terms.size }, (_, term) => {
    const having = starts[term + 1] as number
    return Math.log(1 + (count - having + 0.5) / (having + 0.5))
  })
  for (let term = 0; term < terms.size; term++)
    starts[term + 1] = (starts[term + 1] as number) + (starts[term] as number)

  const next = starts.slice()
  const tools = new Uint32Array(rows.terms.length)
  const scores = new Float32Array(rows.terms.length)
  const fields = new Uint8Array(rows.terms.length)
  for (const [row, term] of rows.terms.entries()) {
    const at = next[term] as number
    next[term] = at + 1
    tools[at] = rows.tools[row] as number
    scores[at] = (rows.scores[row] as number) * (rarity[term] as number)
    fields[at] = rows.fields[row] as number
  }
  return { terms, starts, tools, scores, fields }
}
