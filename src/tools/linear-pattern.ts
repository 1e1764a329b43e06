import { RE2JS } from 're2js'

export const MAX_PATTERN_LENGTH = 256

/** What Ajv asks of a regular expression. */
export interface LinearPattern {
  test(text: string): boolean
  /** Ajv keeps patterns by this text: two with the same would become one, and accept the wrong values. */
  toString(): string
}

/**
 * A regular expression whose time is linear in the text, whoever wrote it; found anywhere in the text, as JSON Schema
 * says. Throws on what RE2 cannot do: look-around, back references.
 */
export function linearPattern(pattern: string): LinearPattern {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
  return { test: text => compiled.test(text), toString: () => `linear:${pattern}` }
}
