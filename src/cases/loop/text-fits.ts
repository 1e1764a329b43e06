/** Does a text fit what is expected: itself, a matcher, or a text with a mark in double braces (contract §16). */
import { type Fields, fieldsOf, isFields, listOf, stringOf } from '../fields.ts'
import { parsed, sameText } from '../same-value.ts'

/**
 * `null` and `''` are the same; JSON is compared by value. A matcher is `{contains}`, `{starts_with}`, `{not_empty}`,
 * `{json_array_of}`, `{json_array_first}`; all that it names must hold.
 */
export function textFits(expected: unknown, actual: string, schema: Fields | undefined): boolean {
  if (expected === null || expected === undefined) return actual === ''
  if (isFields(expected)) {
    return Object.entries(expected).every(([name, value]) => MATCHERS[name]?.(value, actual) ?? false)
  }
  if (typeof expected !== 'string') return false
  return expected.includes('{{') ? markFits(expected, actual, schema) : sameText(expected, actual)
}

const MATCHERS: Readonly<Record<string, (value: unknown, actual: string) => boolean>> = {
  contains: (value, actual) => listOf(value).every(part => actual.includes(String(part))),
  starts_with: (value, actual) => actual.startsWith(String(value)),
  not_empty: (value, actual) => (actual.trim() !== '') === value,
  json_array_of: (value, actual) => arrayIn(actual)?.length === value,
  json_array_first: (value, actual) => arrayIn(actual)?.[0] === value
}

function arrayIn(text: string): readonly unknown[] | undefined {
  const value = parsed(text)?.value
  return Array.isArray(value) ? value : undefined
}

/** Marks stand for texts of this gateway; what stands around a mark must be there as it is. */
function markFits(expected: string, actual: string, schema: Fields | undefined): boolean {
  const [, before = '', mark = '', after = ''] = /^(.*?)\{\{(.*?)\}\}(.*)$/s.exec(expected) ?? []
  const inner = actual.slice(before.length, actual.length - after.length)
  if (!actual.startsWith(before) || !actual.endsWith(after) || actual.length < before.length + after.length)
    return false
  const [kind = '', ...words] = mark.trim().split(/\s+/)
  const values = Object.fromEntries(words.map(word => word.split('=')))
  switch (kind) {
    case 'limit':
      return inner === limitText(words[0] === 'total', values)
    case 'tool-failed':
      return inner === `The tool ${values.tool} failed.`
    case 'validation-error':
      return inner.startsWith('The answer was not accepted:')
    case 'format-instructions':
      return schema !== undefined && withoutSpace(inner).includes(withoutSpace(JSON.stringify(schema)))
    default:
      return false
  }
}

function limitText(isTotal: boolean, { tool, max }: Readonly<Record<string, string | undefined>>): string {
  return isTotal
    ? `Limit reached: at most ${max} tool calls in one turn.`
    : `Limit reached: ${tool} may be called at most ${max} times in one turn.`
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}

/** The text of a content as it goes over the wire: a string, parts, or nothing. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map(part => stringOf(fieldsOf(part).text) ?? '')
    .join('')
}
