import type { Fields } from './chat.ts'
import { isFields } from './is-fields.ts'
import { isDeeperThan } from './json-depth.ts'
import { type Revived, rawNumber } from './raw-number.ts'

export type Arguments =
  /** `value` is for checking (numbers as JavaScript has them), `text` for sending (integers exactly as written). */
  { readonly ok: true; readonly value: Fields; readonly text: string } | { readonly ok: false; readonly reason: string }

const MAX_DEPTH = 64
/** Only then can a number lose digits or become infinite, and only then is the slow, exact reading worth it. */
const RISKY_NUMBER = /\d{16}|\d[eE]/

/**
 * Reads the arguments of a tool call as models write them (contract §4.2): blank or `null` means `{}`, a JSON string
 * that holds an object is unwrapped once, integers beyond 2^53 keep their digits. Anything but an object, more than
 * 64 levels, and numbers that are not finite are refused with a reason that the model can act on.
 */
export function parseArguments(text: string): Arguments {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === 'null') return { ok: true, value: {}, text: '{}' }
  const parsed = parseJson(trimmed)
  if (!parsed.ok) return parsed
  if (isFields(parsed.value)) return { ok: true, value: parsed.value, text: exactText(trimmed, parsed.value) }
  if (typeof parsed.value === 'string') {
    const inner = parseJson(parsed.value.trim())
    if (inner.ok && isFields(inner.value)) {
      return { ok: true, value: inner.value, text: exactText(parsed.value, inner.value) }
    }
  }
  return { ok: false, reason: 'The arguments must be a JSON object.' }
}

/**
 * The arguments as one text for all spellings of the same: keys sorted, numbers by value, those `left` out that are not
 * the tool's own (contract §18, 4.3).
 */
export function canonicalArguments(text: string, left: readonly string[] = []): string {
  const parsed = parseArguments(text)
  if (!parsed.ok) return text.trim()
  return JSON.stringify(sorted(withoutFields(JSON.parse(parsed.text, bigAsText), left)))
}

/** The arguments as text, without those `left` out; integers keep their digits. What is no JSON object stays as it is. */
export function argumentsWithout(text: string, left: readonly string[]): string {
  const parsed = parseArguments(text)
  if (!parsed.ok) return text
  if (!left.some(name => Object.hasOwn(parsed.value, name))) return parsed.text
  return exactText(parsed.text, parsed.value, fields => withoutFields(fields, left))
}

/** The same fields but for some. */
export function withoutFields(fields: Fields, left: readonly string[]): Fields {
  if (!left.some(name => Object.hasOwn(fields, name))) return fields
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !left.includes(name)))
}

/** What is sent back to the model as its own call: its text where that is a JSON object, else `{}` (contract §4.2). */
export function replayableArguments(text: string): string {
  const parsed = parseArguments(text)
  if (!parsed.ok) return '{}'
  return text.trimStart().startsWith('{') ? text : parsed.text
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  if (isDeeperThan(text, MAX_DEPTH)) return { ok: false, reason: `The arguments are nested deeper than ${MAX_DEPTH}.` }
  try {
    const value: unknown = JSON.parse(text)
    if (RISKY_NUMBER.test(text) && !allFinite(value)) return { ok: false, reason: 'A number is out of range.' }
    return { ok: true, value }
  } catch {
    return { ok: false, reason: 'The arguments are not valid JSON.' }
  }
}

function allFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.values(value).every(allFinite)
}

function exactText(source: string, value: Fields, change = (fields: Fields): Fields => fields): string {
  if (!RISKY_NUMBER.test(source)) return JSON.stringify(change(value))
  return JSON.stringify(change(JSON.parse(source, exactInteger)))
}

function exactInteger(_key: string, value: unknown, context?: Revived): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  return /^-?\d+$/.test(source) ? rawNumber(source) : value
}

function bigAsText(_key: string, value: unknown, context?: Revived): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  return /^-?\d+$/.test(source) ? `#${source}` : value
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isFields(value)) return value
  // A null prototype keeps a key named __proto__ an ordinary key.
  const copy: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(value).sort()) copy[key] = sorted(value[key])
  return copy
}
