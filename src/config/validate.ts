import type { z } from 'zod'
import type { Problem } from './config-error.ts'
import { explain } from './explain.ts'
import { type Path, pathText } from './path.ts'
import { type Config, configSchema } from './schema.ts'

/** What the validator must know of the place a value came from. */
export interface Origin {
  line(path: Path): number | undefined
  /** Was it filled in from a variable or a file? Such text may stand for a number or for true and false. */
  filled(path: Path): boolean
  /** Has something been said about it already? */
  broken(path: Path): boolean
  /** Does it stand in the file, even as null? */
  said(path: Path): boolean
}

export interface Validated {
  /** Absent when not even the sound parts can be read together. With problems: for further checks only. */
  readonly config?: Config
  readonly problems: readonly Problem[]
  /** Places with a problem. */
  readonly places: ReadonlySet<string>
  /** Sections that `config` has the defaults of because theirs could not be read. */
  readonly lost: ReadonlySet<string>
}

/**
 * Checks plain data against the schema. All problems are told; where the wrong values can be left out, the rest is
 * given back so that the checks across sections can speak at the same time.
 */
export function validate(data: unknown, origin: Origin): Validated {
  const copy = structuredClone(withoutEmptySections(data))
  let result = configSchema.safeParse(copy)
  if (!result.success && coerceFilled(copy, result.error.issues, origin)) result = configSchema.safeParse(copy)
  if (result.success) return { config: result.data, problems: [], places: new Set(), lost: new Set() }

  const problems: Problem[] = []
  const places = new Set<string>()
  for (const issue of result.error.issues) {
    for (const { path, message } of explain(issue, valueAt(copy, issue.path))) {
      const place = pathText(path)
      if (places.has(place)) continue
      places.add(place)
      const line = origin.line(path)
      if (!origin.broken(path)) problems.push({ path: place, ...(line && { line }), message })
      leaveOut(copy, path)
    }
  }
  return { ...sound(copy), problems, places }
}

/** What can be read of the rest; sections that still cannot are left out whole and named in `lost`. */
function sound(data: unknown): Pick<Validated, 'config' | 'lost'> {
  const first = configSchema.safeParse(data)
  if (first.success) return { config: first.data, lost: new Set() }
  const lost = new Set(first.error.issues.map(({ path }) => String(path[0] ?? '')))
  for (const section of lost) leaveOut(data, [section])
  const second = configSchema.safeParse(data)
  return { ...(second.success && { config: second.data }), lost }
}

/** A section whose options are all commented out is an empty value in YAML; it means its defaults. */
function withoutEmptySections(data: unknown): unknown {
  if (data === null || data === undefined) return {}
  if (typeof data !== 'object' || Array.isArray(data)) return data
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
}

function coerceFilled(data: unknown, issues: readonly z.core.$ZodIssue[], origin: Origin): boolean {
  let changed = false
  for (const issue of issues) {
    const path = issue.path as Path
    const value =
      typeof valueAt(data, path) === 'string' && origin.filled(path) ? coerced(issue, valueAt(data, path)) : undefined
    if (value === undefined) continue
    put(data, path, value)
    changed = true
  }
  return changed
}

function coerced(issue: z.core.$ZodIssue, value: unknown): unknown {
  const text = String(value).trim()
  const expected: readonly unknown[] =
    issue.code === 'invalid_value' ? issue.values : issue.code === 'invalid_type' ? [issue.expected] : []
  if ((expected.includes('boolean') || expected.includes(true)) && /^(true|false)$/.test(text)) return text === 'true'
  const numeric =
    expected.includes('number') || expected.includes('int') || expected.some(one => typeof one === 'number')
  if (numeric && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  return text === '' && issue.code === 'invalid_type' && expected.includes('number') ? null : undefined
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, step) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    return (value as Record<PropertyKey, unknown>)[step]
  }, data)
}

function put(data: unknown, path: Path, value: unknown): void {
  const holder = valueAt(data, path.slice(0, -1))
  const key = path.at(-1)
  if (typeof holder === 'object' && holder !== null && key !== undefined) Reflect.set(holder, key, value)
}

function leaveOut(data: unknown, path: Path): void {
  const holder = valueAt(data, path.slice(0, -1))
  const key = path.at(-1)
  if (typeof holder === 'object' && holder !== null && key !== undefined) Reflect.deleteProperty(holder, key)
}
