import type { CaseKind, Falsified, Options, Stage } from '../case-kind.ts'
import { startGateway } from '../gateway.ts'
import { ask } from './ask.ts'
import { type Corpus, type CorpusQuery, readCorpora } from './corpus.ts'
import { type Figures, figuresOf, labelOf } from './figures.ts'
import { readFloors } from './floors.ts'
import { probe } from './probe.ts'

/** A file of queries (or `mixed`) and the least figures with which it passes. */
export interface ToolSearchCase {
  /** Name of the file, without `.json`. */
  readonly id: string
  /** Absent when the folder has no such file. */
  readonly corpus?: Corpus
  /** Absent when `floors.json` has none for it. */
  readonly floors?: Figures
}

/** The whole of a large tool set goes in one body. */
const BODY_LIMIT = 256 * 1024 * 1024
/** More than any percentage. */
const UNREACHABLE = 101

/** How well the gateway's search finds tools, held against floors (contract §16). */
export const toolSearchKind: CaseKind<ToolSearchCase, Figures> = {
  name: 'tool-search',
  read: readCases,
  groupOf: () => 'all',
  open,
  judge: belowFloors,
  falsified: one => floorsOf(one).map(({ kind, figure }) => raised(one, kind, figure))
}

async function readCases(folder: string, { only }: Options): Promise<readonly ToolSearchCase[]> {
  const floors = await readFloors(folder)
  const corpora = await readCorpora(folder)
  const names = new Set([...corpora.map(({ name }) => name), ...Object.keys(floors ?? {})])
  const cases = [...names].map(id => {
    const corpus = corpora.find(({ name }) => name === id)
    return { id, ...(corpus && { corpus }), ...(floors?.[id] && { floors: floors[id] }) }
  })
  return cases.filter(({ id }) => only?.includes(id) ?? true)
}

async function open(): Promise<Stage<ToolSearchCase, Figures>> {
  const gateway = await startGateway({ config: { version: 1, server: { body_limit_bytes: BODY_LIMIT } } })
  return {
    async play({ id, corpus }) {
      if (corpus === undefined) throw new Error(`floors.json names ${id}, but the folder has no ${id}.json`)
      return measure(gateway.url, corpus)
    },
    isUsable: () => gateway.isAlive(),
    close: () => gateway.stop()
  }
}

async function measure(url: string, { tools, queries }: Corpus): Promise<Figures> {
  const byName = probe(tools)
  const texts = queries.flatMap(query => query.texts)
  const found = await ask(url, tools, [...texts, ...byName.texts])
  const findings = new Map<CorpusQuery, readonly (readonly string[])[]>()
  let at = 0
  for (const query of queries) {
    findings.set(query, found.slice(at, at + query.texts.length))
    at += query.texts.length
  }
  return { ...figuresOf(findings), probe: byName.figures(found.slice(texts.length)) }
}

/** What is under its floor, in words; a figure that was not measured is under it too. */
function belowFloors(one: ToolSearchCase, figures: Figures): readonly string[] {
  if (one.floors === undefined) return ['there are no floors for it in a floors.json beside it']
  return floorsOf(one).flatMap(({ kind, figure, floor }) => {
    const value = figures[kind]?.[figure]
    if (value !== undefined && value >= floor) return []
    return [`${kind} ${labelOf(figure)} ${value?.toFixed(1) ?? 'was not measured'}, floor ${floor.toFixed(1)}`]
  })
}

function floorsOf({ floors = {} }: ToolSearchCase) {
  return Object.entries(floors).flatMap(([kind, least]) =>
    Object.entries(least).map(([figure, floor]) => ({ kind, figure, floor }))
  )
}

function raised(one: ToolSearchCase, kind: string, figure: string): Falsified<ToolSearchCase> {
  const floors = { ...one.floors, [kind]: { ...one.floors?.[kind], [figure]: UNREACHABLE } }
  return { path: `floors.${kind}.${figure}`, case: { ...one, floors } }
}
