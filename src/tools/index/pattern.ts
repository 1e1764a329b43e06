import { RE2JS } from 're2js'

const MAX_PATTERN = 200
const SLASHED = /^\/(.+)\/[a-z]*$/s
const BARE = /\.\*|[\^$[|]/

/**
 * The pattern that a query is, compiled by an engine whose time is linear in the text, case ignored; `undefined` when
 * it is none: not `/…/` (nor, where bare ones count, with `.*`, `^`, `$`, `[` or `|` in it), too long, or not valid.
 */
export function patternOf(query: string, bare: boolean): RE2JS | undefined {
  const source = SLASHED.exec(query)?.[1] ?? (bare && BARE.test(query) ? query : undefined)
  if (source === undefined || source.length > MAX_PATTERN) return undefined
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)
  } catch {
    return undefined
  }
}
