/** Makes expected values wrong, one at a time, so that a runner that misses one is found. */
import { isFields } from './fields.ts'

export interface FalsifiedValue {
  /** Keys and positions from the root to the value. */
  readonly path: readonly (string | number)[]
  /** The whole root with this one value made wrong. */
  readonly root: unknown
}

/**
 * How a value of this place is made wrong. `undefined`: as its type says. `{ value }`: by this value, and nothing inside
 * it is looked at. `'skip'`: it is no expected value.
 */
export type Wrongly = (
  path: readonly (string | number)[],
  value: unknown
) => { readonly value: unknown } | 'skip' | undefined

/** The root with each of its values made wrong, one at a time. An empty list or object is a value too. */
export function* falsify(root: unknown, wrongly: Wrongly): Generator<FalsifiedValue> {
  for (const { path, value } of wrongValues(root, [], wrongly)) yield { path, root: replaced(root, path, value) }
}

function* wrongValues(
  value: unknown,
  path: readonly (string | number)[],
  wrongly: Wrongly
): Generator<{ path: readonly (string | number)[]; value: unknown }> {
  const special = wrongly(path, value)
  if (special === 'skip') return
  if (special) {
    yield { path, value: special.value }
    return
  }
  const inner = Array.isArray(value) ? [...value.entries()] : isFields(value) ? Object.entries(value) : []
  if (inner.length > 0) for (const [key, one] of inner) yield* wrongValues(one, [...path, key], wrongly)
  else yield { path, value: wrong(value) }
}

function wrong(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value}~`
  if (Array.isArray(value)) return ['~']
  return isFields(value) ? { '~': '~' } : '~'
}

function replaced(root: unknown, [step, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value
  if (Array.isArray(root)) return root.map((one, at) => (at === step ? replaced(one, rest, value) : one))
  if (!isFields(root)) return root
  return { ...root, [step]: replaced(root[step], rest, value) }
}

/** A path for people: `expect.usage.total_tokens`, `turns[0].requests[1].messages[2].content`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}
