import type { Fields } from '../../core/chat.ts'

const MAX_DEPTH = 4
const MAX_ENUM_VALUES = 8

export interface ParameterTexts {
  /** Names of parameters, nested ones too, and the first values of their enums. */
  readonly names: readonly string[]
  readonly descriptions: readonly string[]
}

/** What a JSON Schema says of a tool's parameters, down to five levels. Anything that is no schema is passed over. */
export function parameterTexts(schema: Fields | undefined): ParameterTexts {
  const names: string[] = []
  const descriptions: string[] = []
  const walk = (value: unknown, depth: number): void => {
    if (!isRecord(value) || depth > MAX_DEPTH) return
    for (const [name, property] of Object.entries(isRecord(value.properties) ? value.properties : {})) {
      names.push(name)
      if (!isRecord(property)) continue
      if (typeof property.description === 'string') descriptions.push(property.description)
      if (Array.isArray(property.enum)) names.push(...property.enum.filter(isText).slice(0, MAX_ENUM_VALUES))
      walk(property, depth + 1)
    }
    walk(value.items, depth + 1)
    if (Array.isArray(value.anyOf)) for (const each of value.anyOf) walk(each, depth + 1)
  }
  walk(schema, 0)
  return { names, descriptions }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
