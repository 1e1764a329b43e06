import type { Fields } from '../../core/chat.ts'
import { isFields } from '../../core/is-fields.ts'
import { ownValue } from '../../core/own-value.ts'

const MAX_DEPTH = 12

/** The smallest value that a JSON Schema takes, as far as a simulator has to know schemas. `root` resolves `#/…`. */
export function instance(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isFields(schema) || depth > MAX_DEPTH) return null
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if ('default' in schema) return schema.default
  if (typeof schema.$ref === 'string') return instance(resolve(schema.$ref, root), root, depth + 1)
  for (const choice of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(choice)) return instance(choice[0], root, depth + 1)
  }
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.map(part => instance(part, root, depth + 1))
    return parts.every(isFields) ? Object.assign({}, objectOf(schema, root, depth), ...parts) : parts[0]
  }
  return byType(typeOf(schema), schema, { root, depth })
}

function typeOf(schema: Fields): unknown {
  if (Array.isArray(schema.type)) return schema.type[0]
  return schema.type ?? (schema.properties === undefined ? 'null' : 'object')
}

function byType(type: unknown, schema: Fields, { root, depth }: { root: unknown; depth: number }): unknown {
  switch (type) {
    case 'object':
      return objectOf(schema, root, depth)
    case 'array':
      return Array.from({ length: atLeast(schema.minItems) }, () => instance(schema.items, root, depth + 1))
    case 'string':
      return textOf(schema)
    case 'integer':
    case 'number':
      return numberOf(schema)
    case 'boolean':
      return false
  }
  return null
}

function objectOf(schema: Fields, root: unknown, depth: number): Fields {
  const properties = isFields(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  return Object.fromEntries(required.map(name => [name, instance(ownValue(properties, name) ?? {}, root, depth + 1)]))
}

function textOf({ format, minLength }: Fields): string {
  if (format === 'date') return '2000-01-01'
  if (format === 'date-time') return '2000-01-01T00:00:00Z'
  return 'x'.repeat(Math.min(atLeast(minLength), 1000))
}

function numberOf({ minimum, exclusiveMinimum, maximum }: Fields): number {
  if (typeof minimum === 'number') return minimum
  if (typeof exclusiveMinimum === 'number') return Math.floor(exclusiveMinimum) + 1
  return typeof maximum === 'number' && maximum < 0 ? maximum : 0
}

function atLeast(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(Math.ceil(value), 1000) : 0
}

function resolve(pointer: string, root: unknown): unknown {
  if (!pointer.startsWith('#')) return undefined
  let at = root
  for (const step of pointer.split('/').slice(1)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    at = isFields(at) || Array.isArray(at) ? (at as Fields)[key] : undefined
  }
  return at
}
