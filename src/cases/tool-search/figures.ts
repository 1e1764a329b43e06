import type { CorpusQuery } from './corpus.ts'

/** Percentages by kind of query, to one decimal: `r5` is the share of the relevant tools among the first five. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>

/** What searching for each text of a query found, best first. */
export type Findings = ReadonlyMap<CorpusQuery, readonly (readonly string[])[]>

const LABELS: Readonly<Record<string, string>> = {
  r1: 'R@1',
  r3: 'R@3',
  r5: 'R@5',
  r10: 'R@10',
  mrr: 'MRR',
  c5: 'complete@5',
  sr3: 'R@3',
  sr5: 'R@5',
  sr10: 'R@10',
  sc5: 'complete@5',
  exact1: 'own name first',
  words5: 'name as words in top 5',
  bundle5: 'five names in top 5'
}

/** Averages over the queries of each kind. `c5`, all found in the first five, is of those with several tools only. */
export function figuresOf(findings: Findings): Figures {
  const all = new Map<string, Map<string, number[]>>()
  for (const [query, lists] of findings) {
    const measured = query.isSession ? sessionFigures(query, lists) : queryFigures(query, lists[0] ?? [])
    const kind = all.get(query.kind) ?? new Map<string, number[]>()
    all.set(query.kind, kind)
    for (const [figure, value] of Object.entries(measured)) kind.set(figure, [...(kind.get(figure) ?? []), value])
  }
  return mapValues(Object.fromEntries(all), kind => mapValues(Object.fromEntries(kind), percent))
}

/** The mean over several sets of figures, of whichever have the kind and the figure. */
export function meanOf(sets: readonly Figures[]): Figures {
  const kinds = [...new Set(sets.flatMap(set => Object.keys(set)))].sort()
  return Object.fromEntries(kinds.map(kind => [kind, meanOfKind(sets.map(set => set[kind] ?? {}))]))
}

function meanOfKind(sets: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = [...new Set(sets.flatMap(set => Object.keys(set)))]
  return Object.fromEntries(names.map(name => [name, rounded(mean(sets.flatMap(set => set[name] ?? [])))]))
}

/** `R@1 70.1  R@3 85.6 …`, in a fixed order. */
export function showFigures(figures: Readonly<Record<string, number>>): string {
  return Object.keys(LABELS)
    .flatMap(key => (figures[key] === undefined ? [] : `${LABELS[key]} ${figures[key].toFixed(1)}`))
    .join('  ')
}

/** What a figure is called in print. */
export function labelOf(figure: string): string {
  return LABELS[figure] ?? figure
}

/** A share as a percentage with one decimal. */
export function percent(shares: readonly number[]): number {
  return rounded(100 * mean(shares))
}

function queryFigures({ relevant }: CorpusQuery, found: readonly string[]): Record<string, number> {
  const cover = (count: number) => share(relevant, new Set(found.slice(0, count)))
  const first = found.findIndex(name => relevant.includes(name))
  return {
    r1: cover(1),
    r3: cover(3),
    r5: cover(5),
    r10: cover(10),
    mrr: first === -1 ? 0 : 1 / (first + 1),
    ...(relevant.length > 1 && { c5: Math.floor(cover(5)) })
  }
}

/** A session counts what its searches found together. */
function sessionFigures({ relevant }: CorpusQuery, lists: readonly (readonly string[])[]): Record<string, number> {
  const cover = (count: number) => share(relevant, new Set(lists.flatMap(found => found.slice(0, count))))
  return { sr3: cover(3), sr5: cover(5), sr10: cover(10), sc5: Math.floor(cover(5)) }
}

function share(relevant: readonly string[], found: ReadonlySet<string>): number {
  return relevant.filter(name => found.has(name)).length / relevant.length
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function rounded(value: number): number {
  return Number(value.toFixed(1))
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
