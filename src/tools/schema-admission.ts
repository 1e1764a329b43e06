import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { linearPattern, MAX_PATTERN_LENGTH } from './linear-pattern.ts'
import { schemaAt } from './schema-at.ts'
import { dialectOf, schemaComplaint } from './schema-check.ts'
import { schemaCost } from './schema-cost.ts'
import { isSchemaObject, subschemas } from './schema-walk.ts'

const MAX_BYTES = 32_768
const MAX_DEPTH = 16
const MAX_JSON_DEPTH = 64
const MAX_NODES = 1000
const MAX_PROPERTIES = 200
const MAX_PATHS = 10_000

type Reason =
  | 'remote_ref'
  | 'unresolved_ref'
  | 'ref_cycle'
  | 'schema_depth'
  | 'schema_complexity'
  | 'schema_size'
  | 'pattern_unsupported'
  | 'schema_invalid'

/**
 * Lets in only schemas that can be checked against anything in bounded time (contract §6.1). Throws
 * `schema_rejected` with one of the contract's reasons, or `schema_invalid` for what is no JSON Schema at all.
 * `param` is the field the schema stands in.
 */
export function admitSchema(schema: Fields, param: string): void {
  const refuse = (reason: Reason, what: string): never => {
    throw new GatewayError('schema_rejected', `${param} ${what}.`, { param, reason })
  }
  if (isDeeperThan(schema, MAX_JSON_DEPTH)) refuse('schema_depth', `is nested deeper than ${MAX_JSON_DEPTH}`)
  const all = collect(schema, refuse)
  for (const each of all) admitKeywords(each, each === schema, refuse)
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES) refuse('schema_size', `is larger than ${MAX_BYTES} bytes`)
  if (dialectOf(schema) === undefined) refuse('schema_invalid', 'must be JSON Schema 2020-12 or draft-07 ($schema)')
  const complaint = schemaComplaint(schema)
  if (complaint !== undefined) refuse('schema_invalid', `is not a JSON Schema: ${complaint}`)
  const targets = new Map(all.map(each => [each, refsOf(each).map(ref => resolve(schema, ref, refuse))]))
  addTargetsOfTargets(schema, targets, refuse)
  const problem = schemaCost(schema, targets, MAX_PATHS)
  if (problem === 'ref_cycle') refuse('ref_cycle', 'has a reference that leads back to itself')
  if (problem !== undefined) refuse(problem, `has more than ${MAX_PATHS} ways through it; use fewer alternatives`)
}

type Refuse = (reason: Reason, what: string) => never

/** All schemas inside, the root first. */
function collect(root: Fields, refuse: Refuse): readonly Fields[] {
  const all: Fields[] = []
  const queue: { schema: Fields; depth: number }[] = [{ schema: root, depth: 1 }]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { schema, depth } = next
    all.push(schema)
    if (depth > MAX_DEPTH) refuse('schema_depth', `has schemas nested deeper than ${MAX_DEPTH}`)
    if (isSchemaObject(schema.properties) && Object.keys(schema.properties).length > MAX_PROPERTIES) {
      refuse('schema_complexity', `has an object with more than ${MAX_PROPERTIES} properties`)
    }
    for (const { schema: inner } of subschemas(schema)) queue.push({ schema: inner, depth: depth + 1 })
    if (all.length + queue.length > MAX_NODES) refuse('schema_complexity', `has more than ${MAX_NODES} schemas`)
  }
  return all
}

function admitKeywords(schema: Fields, isRoot: boolean, refuse: Refuse): void {
  // Ajv would answer with a promise, which is true whatever it comes to.
  if ('$async' in schema) refuse('schema_invalid', 'must not use $async')
  if ('nullable' in schema && !('type' in schema)) {
    refuse('schema_invalid', 'uses nullable without type; add {"type": "null"} as an alternative instead')
  }
  if ('$id' in schema && !isRoot) refuse('remote_ref', 'must not have $id below its root')
  const patterns = isSchemaObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : []
  for (const pattern of [schema.pattern, ...patterns]) {
    if (typeof pattern !== 'string') continue
    if (pattern.length > MAX_PATTERN_LENGTH) {
      refuse('pattern_unsupported', `has a pattern of more than ${MAX_PATTERN_LENGTH} characters`)
    }
    if (!compiles(pattern)) {
      refuse('pattern_unsupported', 'has a pattern with look-around, back references or other syntax RE2 does not know')
    }
  }
}

function compiles(pattern: string): boolean {
  try {
    linearPattern(pattern)
    return true
  } catch {
    return false
  }
}

function refsOf(schema: Fields): readonly string[] {
  return [schema.$ref, schema.$dynamicRef, schema.$recursiveRef].filter(ref => typeof ref === 'string')
}

/** A reference may name a place where no schema is expected; what it finds there counts like any other schema. */
function addTargetsOfTargets(root: Fields, targets: Map<Fields, readonly Fields[]>, refuse: Refuse): void {
  const queue = [...targets.values()].flat().filter(target => !targets.has(target))
  for (let target = queue.pop(); target !== undefined; target = queue.pop()) {
    if (targets.has(target)) continue
    admitKeywords(target, target === root, refuse)
    const found = refsOf(target).map(ref => resolve(root, ref, refuse))
    targets.set(target, found)
    queue.push(...found, ...[...subschemas(target)].map(({ schema }) => schema))
    if (targets.size > MAX_NODES * 2) refuse('schema_complexity', `has more than ${MAX_NODES} schemas`)
  }
}

/** The schema a `#` or `#/…` reference names; a boolean schema counts as an empty one. */
function resolve(root: Fields, ref: string, refuse: Refuse): Fields {
  if (!ref.startsWith('#')) refuse('remote_ref', 'may refer to its own parts only (#/…)')
  if (ref !== '#' && !ref.startsWith('#/')) refuse('unresolved_ref', 'may refer to its own parts by #/… only')
  const found = schemaAt(root, ref)
  if (typeof found === 'boolean') return {}
  return isSchemaObject(found) ? found : refuse('unresolved_ref', `has a reference to nothing: ${ref.slice(0, 100)}`)
}

/** Without recursion: a body may be nested as deep as it is long. */
function isDeeperThan(value: unknown, max: number): boolean {
  const queue: { value: unknown; depth: number }[] = [{ value, depth: 1 }]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth > max) return true
    for (const inner of Object.values(next.value)) queue.push({ value: inner, depth: next.depth + 1 })
  }
  return false
}
