import type { Fields } from '../core/chat.ts'

/** Where a subschema applies, seen from its parent. */
export type Place =
  /** To the very value its parent applies to. */
  | { readonly at: 'same' }
  /** To one property, or one position of an array. */
  | { readonly at: 'child'; readonly key: string }
  /** To any number of children. */
  | { readonly at: 'children' }
  /** Nowhere until a reference names it. */
  | { readonly at: 'definition' }

export interface Subschema {
  readonly schema: Fields
  readonly place: Place
}

const SAME_ONE = ['not', 'if', 'then', 'else']
const SAME_LIST = ['allOf', 'anyOf', 'oneOf']
const SAME_MAP = ['dependentSchemas', 'dependencies']
const CHILDREN_ONE = [
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames']
]
const CHILD_LIST = ['prefixItems', 'items']
const DEFINITIONS = ['$defs', 'definitions']

/** The schemas directly inside a schema, of 2020-12 and draft-07; `true` and `false` left out. */
export function* subschemas(schema: Fields): Generator<Subschema> {
  const same: Place = { at: 'same' }
  const children: Place = { at: 'children' }
  for (const keyword of SAME_ONE) yield* one(schema[keyword], same)
  for (const keyword of SAME_LIST) for (const each of listOf(schema[keyword])) yield* one(each, same)
  for (const keyword of SAME_MAP) for (const [, each] of entriesOf(schema[keyword])) yield* one(each, same)
  for (const keyword of CHILDREN_ONE) yield* one(schema[keyword], children)
  for (const keyword of CHILD_LIST) {
    for (const [at, each] of listOf(schema[keyword]).entries()) yield* one(each, { at: 'child', key: `#${at}` })
  }
  for (const [key, each] of entriesOf(schema.properties)) yield* one(each, { at: 'child', key: `/${key}` })
  for (const [, each] of entriesOf(schema.patternProperties)) yield* one(each, children)
  for (const keyword of DEFINITIONS) {
    for (const [, each] of entriesOf(schema[keyword])) yield* one(each, { at: 'definition' })
  }
}

export function isSchemaObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function* one(value: unknown, place: Place): Generator<Subschema> {
  if (isSchemaObject(value)) yield { schema: value, place }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isSchemaObject(value) ? Object.entries(value) : []
}
