import { isDeeperThan } from '../core/json-depth.ts'
import { type Revived, rawNumber } from '../core/raw-number.ts'
import { visibleText } from './visible-text.ts'

const MAX_DEPTH = 64
/** Only then can a number come out written another way, or something be there that must go. */
const RISKY = /\d{16}|\d[.eE]|-0|proto|\\u00|\\u[dD]/

/** JSON of an endpoint, read so that nothing of it changes on the way to the model. */
export type ExactJson =
  | {
      readonly ok: true
      /** For checking: numbers as JavaScript has them. */
      readonly value: unknown
      /** For showing: as `value`, but `JSON.stringify` writes every number of it as the endpoint did. */
      readonly exact: unknown
    }
  | { readonly ok: false }

/** Broken JSON and more than 64 levels are not ok; `__proto__` keys and lone surrogates are left out. */
export function exactJson(source: string): ExactJson {
  if (isDeeperThan(source, MAX_DEPTH)) return { ok: false }
  try {
    if (!RISKY.test(source)) {
      const value: unknown = JSON.parse(source)
      return { ok: true, value, exact: value }
    }
    return { ok: true, value: JSON.parse(source, harmless), exact: JSON.parse(source, asWritten) }
  } catch {
    return { ok: false }
  }
}

function harmless(key: string, value: unknown): unknown {
  if (key === '__proto__') return undefined
  return typeof value === 'string' ? visibleText(value) : value
}

function asWritten(key: string, value: unknown, context?: Revived): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return harmless(key, value)
  return key === '__proto__' ? undefined : rawNumber(source)
}
