/** The schema as JSON Schema, to say what is allowed at a place. */
import { z } from 'zod'
import type { Path } from './path.ts'
import { configSchema } from './schema.ts'

export interface Shape {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly additionalProperties?: Shape | boolean
  readonly anyOf?: readonly Shape[]
  readonly allOf?: readonly Shape[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly required?: readonly string[]
}

let whole: Shape | undefined

/** What may be written at a path; `undefined` where nothing may. Built when first asked for. */
export function shapeAt(path: Path): Shape | undefined {
  whole ??= z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Shape
  return path.reduce<Shape | undefined>((shape, step) => shape && inside(shape, step), whole)
}

function inside(shape: Shape, step: string | number): Shape | undefined {
  const choices = [shape, ...(shape.anyOf ?? []), ...(shape.allOf ?? [])]
  for (const { properties, items, additionalProperties } of choices) {
    if (typeof step === 'number' && items) return items
    const named = properties && Object.hasOwn(properties, step) ? properties[step] : undefined
    if (named) return named
    if (typeof additionalProperties === 'object') return additionalProperties
  }
  return undefined
}

/** The keys that a mapping may hold; empty where any may stand. */
export function keysOf(shape: Shape | undefined): readonly string[] {
  if (!shape) return []
  return [shape, ...(shape.anyOf ?? []), ...(shape.allOf ?? [])].flatMap(({ properties }) =>
    Object.keys(properties ?? {})
  )
}

/** The numbers allowed, from all alternatives. */
export function boundsOf(shape: Shape | undefined): { minimum?: number; maximum?: number } {
  return [shape, ...(shape?.anyOf ?? [])].find(one => one?.minimum !== undefined || one?.maximum !== undefined) ?? {}
}
