import type { Fields } from '../core/chat.ts'
import { type Subschema, subschemas } from './schema-walk.ts'

/** What a reference of the schema names; all of them resolve. */
export type Targets = ReadonlyMap<Fields, readonly Fields[]>

export type CostProblem = 'ref_cycle' | 'schema_complexity'

/** As deep as arguments may be (contract §4.2). */
const DATA_DEPTH = 64

/**
 * Bounds what checking a value against a schema can cost, however the value is made. Refused are references that come
 * back to the same value (`ref_cycle`), and more than `max` ways through the schema: all of them counted for one that
 * does not recur, those that can meet at one place of the value, 64 levels down, for one that does. The latter finds
 * recursion through several alternatives, which doubles the work at each level.
 */
export function schemaCost(root: Fields, targets: Targets, max: number): CostProblem | undefined {
  const edges = edgesOf(root, targets)
  if (loops(root, edges)) return 'ref_cycle'
  const { paths, recurs } = countPaths(root, edges, max)
  if (paths > max) return 'schema_complexity'
  return recurs && deepestCost(root, edges, max) > max ? 'schema_complexity' : undefined
}

type Edges = ReadonlyMap<Fields, readonly Subschema[]>

/** Everything that is reached from the root, definitions only where they are referred to. */
function edgesOf(root: Fields, targets: Targets): Edges {
  const edges = new Map<Fields, readonly Subschema[]>()
  const queue = [root]
  for (let schema = queue.pop(); schema !== undefined; schema = queue.pop()) {
    if (edges.has(schema)) continue
    const inside = [...subschemas(schema)].filter(({ place }) => place.at !== 'definition')
    const referred = (targets.get(schema) ?? []).map((each): Subschema => ({ schema: each, place: { at: 'same' } }))
    edges.set(schema, [...inside, ...referred])
    for (const each of edges.get(schema) ?? []) queue.push(each.schema)
  }
  return edges
}

/** Is there a way from a schema to itself that stays at the same value? Validation would never end. */
function loops(root: Fields, edges: Edges): boolean {
  const state = new Map<Fields, 'open' | 'done'>()
  const visit = (schema: Fields): boolean => {
    const known = state.get(schema)
    if (known !== undefined) return known === 'open'
    state.set(schema, 'open')
    const found = (edges.get(schema) ?? []).some(({ schema: next, place }) => place.at === 'same' && visit(next))
    state.set(schema, 'done')
    return found
  }
  return [root, ...edges.keys()].some(schema => state.get(schema) === undefined && visit(schema))
}

/** A schema under way counts once where it is met again. */
function countPaths(root: Fields, edges: Edges, max: number): { paths: number; recurs: boolean } {
  const known = new Map<Fields, number>()
  const open = new Set<Fields>()
  let recurs = false
  const count = (schema: Fields): number => {
    if (open.has(schema)) {
      recurs = true
      return 1
    }
    const before = known.get(schema)
    if (before !== undefined) return before
    open.add(schema)
    let paths = 1
    for (const { schema: next } of edges.get(schema) ?? []) paths = Math.min(paths + count(next), max + 1)
    open.delete(schema)
    known.set(schema, paths)
    return paths
  }
  return { paths: count(root), recurs }
}

/** Schemas that apply to one place of the value and below it, at most, when the value is `DATA_DEPTH` deep. */
function deepestCost(root: Fields, edges: Edges, max: number): number {
  const together = new Map<Fields, ReadonlyMap<Fields, number>>()
  const starts = new Set([root])
  for (const each of edges.values()) for (const { schema, place } of each) if (place.at !== 'same') starts.add(schema)
  let size = 0
  for (const start of starts) {
    const applied = appliedAt(start, edges)
    together.set(start, applied)
    size += applied.size
    if (size > max * 2) return Number.POSITIVE_INFINITY
  }
  let costs = new Map<Fields, number>()
  for (let depth = 0; depth <= DATA_DEPTH; depth++) {
    const deeper = new Map<Fields, number>()
    for (const [start, applied] of together) deeper.set(start, costAt(applied, edges, costs))
    costs = deeper
    if ((costs.get(root) ?? 0) > max) break
  }
  return costs.get(root) ?? 0
}

/** A schema and all that apply to the same value with it, with how often. */
function appliedAt(start: Fields, edges: Edges): ReadonlyMap<Fields, number> {
  const known = new Map<Fields, ReadonlyMap<Fields, number>>()
  const gather = (schema: Fields): ReadonlyMap<Fields, number> => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const sum = new Map([[schema, 1]])
    for (const { schema: next, place } of edges.get(schema) ?? []) {
      if (place.at !== 'same') continue
      for (const [each, times] of gather(next)) sum.set(each, (sum.get(each) ?? 0) + times)
    }
    known.set(schema, sum)
    return sum
  }
  return gather(start)
}

function costAt(applied: ReadonlyMap<Fields, number>, edges: Edges, costs: ReadonlyMap<Fields, number>): number {
  const byKey = new Map<string, number>()
  let everywhere = 0
  let here = 0
  for (const [schema, times] of applied) {
    here += times
    for (const { schema: next, place } of edges.get(schema) ?? []) {
      const below = times * (costs.get(next) ?? 0)
      if (place.at === 'children') everywhere += below
      else if (place.at === 'child') byKey.set(place.key, (byKey.get(place.key) ?? 0) + below)
    }
  }
  return here + everywhere + Math.max(0, ...byKey.values())
}
