import type { Fields } from '../core/chat.ts'
import type { AugmentField } from './definition.ts'
import { schemaAt } from './schema-at.ts'
import { withRefs } from './schema-refs.ts'
import { isSchemaObject } from './schema-walk.ts'

/** Keywords beside a `$ref` that say nothing of the value: then what it refers to can stand in its place. */
const BESIDE_REF = new Set([
  '$ref',
  '$schema',
  '$id',
  '$defs',
  'definitions',
  '$comment',
  'title',
  'description',
  'type'
])

/** Keywords whose schemas the same arguments have to fit. */
const ALTERNATIVES = new Set(['allOf', 'anyOf', 'oneOf', 'then', 'else'])

/**
 * The schema the model is shown of a tool: its own, with the fields at the end of `properties`, and of `required` those
 * that are. What else it says is kept, and holds for the same values as before.
 */
export function augmentedSchema(own: Fields | undefined, fields: readonly AugmentField[]): Fields {
  const names = fields.map(({ name }) => name)
  const schema = letIn(names, withRootAside(withoutRootRef(own ?? {})))
  const properties = isSchemaObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const wanted = [...required, ...names.filter((_, at) => fields[at]?.required)]
  return {
    type: 'object',
    ...schema,
    properties: { ...properties, ...Object.fromEntries(fields.map(field => [field.name, propertyOf(field)])) },
    ...(wanted.length > 0 && { required: wanted })
  }
}

/** A reference of the field's schema to its own parts leads to where it stands now. */
function propertyOf({ name, description, schema }: AugmentField): Fields {
  const { $schema: _dialect, ...rest } = schema
  const placed = withRefs(rest, ref => (ref.startsWith('#') ? `#/properties/${name}${ref.slice(1)}` : ref))
  return { ...placed, ...(description && { description }) }
}

/** In draft-07 nothing counts beside a `$ref`, and what it refers to may allow no property that it does not name. */
function withoutRootRef(schema: Fields): Fields {
  const { $ref, ...rest } = schema
  if (typeof $ref !== 'string' || !Object.keys(schema).every(key => BESIDE_REF.has(key))) return schema
  const target = $ref.startsWith('#/') ? schemaAt(schema, $ref) : undefined
  return isSchemaObject(target) ? { ...target, ...rest } : schema
}

/** Alternatives of the arguments that allow no property but their own allow the fields: these stand beside them. */
function letIn(names: readonly string[], schema: Fields): Fields {
  const entries = Object.entries(schema).map(([key, inner]) => {
    if (!ALTERNATIVES.has(key)) return [key, inner]
    return [key, Array.isArray(inner) ? inner.map(each => opened(names, each)) : opened(names, inner)]
  })
  return Object.fromEntries(entries)
}

function opened(names: readonly string[], alternative: unknown): unknown {
  if (!isSchemaObject(alternative)) return alternative
  const inner = letIn(names, alternative)
  if (!('additionalProperties' in inner || 'unevaluatedProperties' in inner)) return inner
  const allowed = Object.fromEntries(names.map(name => [name, {}]))
  return { ...inner, properties: { ...(isSchemaObject(inner.properties) && inner.properties), ...allowed } }
}

/** A schema that holds itself keeps a copy without the fields for its inner places: they are asked for once a call. */
function withRootAside(schema: Fields): Fields {
  const definitions = isSchemaObject(schema.$defs) ? schema.$defs : {}
  let name = 'own'
  while (Object.hasOwn(definitions, name)) name += '_'
  let isRecursive = false
  const moved = withRefs(schema, ref => {
    if (ref !== '#') return ref
    isRecursive = true
    return `#/$defs/${name}`
  })
  if (!isRecursive) return schema
  const { $defs: _, definitions: _old, $schema: _dialect, $id: _id, ...itself } = moved
  return { ...moved, $defs: { ...definitionsOf(moved), [name]: itself } }
}

function definitionsOf({ $defs }: Fields): Fields {
  return isSchemaObject($defs) ? $defs : {}
}
