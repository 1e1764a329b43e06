import type { ValidateFunction } from 'ajv'
import type { Fields } from '../core/chat.ts'
import { schemaSentence, schemaValidator } from './schema-check.ts'
import { isSchemaObject, subschemas } from './schema-walk.ts'

/** What is wrong with a value, each as path and rule; empty = nothing. `size`: bytes or characters it came as. */
export type SchemaReasons = (value: unknown, size: number) => readonly string[]

/** Of a larger value only the first thing is told: to list all takes far longer than to find one. */
const MAX_SIZE_FOR_ALL = 20_000
const MAX_REASONS = 100
/** Nothing else runs meanwhile. Ordinary answers take less than a millisecond, and a megabyte some 50 ms. */
const MAX_MS = 500
const CLOCK = 'loopgateClock'

/**
 * Like `schemaCheck`, for schemas and values that both come from outside: it tells more than the first thing that is
 * wrong, and it ends, also where alternatives of the schema and items of the value multiply to minutes. Throws what Ajv
 * cannot compile. The schema must have been admitted.
 */
export function schemaReasons(schema: Fields): SchemaReasons {
  const clock = new Clock()
  const timed = withClock(schema)
  const compile = (allErrors: boolean) =>
    schemaValidator(timed, { allErrors, quick: true, keywords: { [CLOCK]: () => clock.check() } })
  const first = compile(false)
  let all: ValidateFunction | undefined
  return (value, size) => {
    const told = clock.limited(() => (first(value) === true ? [] : sentences(first)))
    if (told === undefined) return ['it takes too long to check']
    if (told.length === 0 || size > MAX_SIZE_FOR_ALL) return told
    all ??= compile(true)
    const every = all
    return clock.limited(() => (every(value) === true ? told : sentences(every))) ?? told
  }
}

function sentences({ errors }: ValidateFunction): readonly string[] {
  return (errors ?? []).slice(0, MAX_REASONS).map(schemaSentence)
}

class Clock {
  #end = Number.POSITIVE_INFINITY

  /** What the work comes to; `undefined` when it took too long. */
  limited<T>(work: () => T): T | undefined {
    this.#end = performance.now() + MAX_MS
    try {
      return work()
    } catch (error) {
      if (error !== TOO_LONG) throw error
      return undefined
    }
  }

  check(): void {
    if (performance.now() > this.#end) throw TOO_LONG
  }
}

const TOO_LONG = new Error('the check of a schema takes too long')

/** A copy in which every schema has the keyword that looks at the clock. */
function withClock(root: Fields): Fields {
  const schemas = new Set<unknown>([root])
  for (const schema of schemas) {
    if (isSchemaObject(schema)) for (const inner of subschemas(schema)) schemas.add(inner.schema)
  }
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (!isSchemaObject(value)) return value
    const fields = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]))
    return schemas.has(value) ? { ...fields, [CLOCK]: true } : fields
  }
  return copy(root) as Fields
}
