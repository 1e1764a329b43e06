import type { Falsified } from '../case-kind.ts'
import { falsify, pathText, type Wrongly } from '../falsify.ts'
import { fieldsOf, listOf } from '../fields.ts'
import type { WireCase } from './case.ts'

/** A bound that nothing keeps. */
const UPPER = /^(?:max\w*|\w+WithinMs)$/
const LOWER = /^(?:min|usageMin)$/

/** The case with each value of `expect` made wrong; `statement` is prose. */
export function falsifiedWire(one: WireCase): readonly Falsified<WireCase>[] {
  return [...falsify(one.expect, wrongly)].map(({ path, root }) => ({
    path: pathText(['expect', ...path]),
    case: { ...one, expect: root as WireCase['expect'] },
    ...(isOpen(one, path) && { reason: 'nothing stands there, which is right whatever the value is' })
  }))
}

/** Does the value belong to a check that nothing at all satisfies too? */
function isOpen(one: WireCase, [field, at]: readonly (string | number)[]): boolean {
  return field === 'upstreamRequest' && 'equalsOrAbsent' in fieldsOf(listOf(one.expect.upstreamRequest)[Number(at)])
}

const wrongly: Wrongly = (path, value) => {
  const name = String(path.findLast(step => typeof step === 'string'))
  if (name === 'statement') return 'skip'
  if (typeof value === 'number' && UPPER.test(name)) return { value: -1 }
  if (typeof value === 'number' && (LOWER.test(name) || path[0] === 'usageMin')) return { value: 1e9 }
  // The empty text stands in every text.
  if (typeof value === 'string' && /[eE]xcludes$/.test(name)) return { value: '' }
  // Accepted answers are one value: that any of them was seen is what is expected.
  if (name.endsWith('OneOf') && Array.isArray(value)) return { value: ['~'] }
  if (name === 'equalsPath' || name === 'startsWithPath') return { value: '~' }
  // A pattern and something that no name holds.
  if (name === 'matches') return { value: `(?:${String(value)})~` }
  return undefined
}
