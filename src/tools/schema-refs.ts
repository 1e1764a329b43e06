import { isSchemaObject } from './schema-walk.ts'

const REFS = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
/** Under these stand names of somebody's choice, each with a schema. */
const NAMES = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
/** Under these stand values, which may look like anything. */
const VALUES = new Set(['const', 'enum', 'default', 'examples'])

/** A schema with every reference in it (`$ref` and its like) replaced by what `change` makes of it. */
export function withRefs<T>(schema: T, change: (ref: string) => string): T {
  return copied(schema, change, false) as T
}

function copied(value: unknown, change: (ref: string) => string, areNames: boolean): unknown {
  if (Array.isArray(value)) return value.map(each => copied(each, change, false))
  if (!isSchemaObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    if (areNames) return [key, copied(inner, change, false)]
    if (REFS.has(key) && typeof inner === 'string') return [key, change(inner)]
    return [key, VALUES.has(key) ? inner : copied(inner, change, NAMES.has(key))]
  })
  return Object.fromEntries(entries)
}
