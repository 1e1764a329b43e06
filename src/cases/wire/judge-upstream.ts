import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'
import { type Reached, reach } from '../json-path.ts'
import { parsed, sameValue, shown } from '../same-value.ts'
import type { UpstreamSaw } from './observation.ts'

interface Place {
  /** What the path leads to: one value, or with `[*]` the list of all. */
  readonly value: unknown
  readonly isThere: boolean
  readonly values: readonly unknown[]
  /** Another place of this request, or of another one. */
  at(reference: unknown): unknown
}

/** One check of `expect.upstreamRequest` on the body of its request; says what differs. */
export function judgeUpstream(check: Fields, upstream: readonly UpstreamSaw[]): readonly string[] {
  const { turn = 1, path = '', ...tests } = check
  const request = upstream[(numberOf(turn) ?? 0) - 1]
  if (!request) return [`there is no request ${shown(turn)}; ${upstream.length} came`]
  const place = placeAt(String(path), Number(turn), upstream)
  return Object.entries(tests).flatMap(([name, expected]) => {
    const test = TESTS[name]
    if (!test) return `the runner does not know the check ${name}`
    if (!place.isThere && name !== 'absent' && name !== 'equalsOrAbsent') return `${path} is not in request ${turn}`
    return test(expected, place)
      ? []
      : `request ${turn}, ${path}: ${name} ${shown(expected)} is not so for ${shown(place.value)}`
  })
}

const TESTS: Readonly<Record<string, (expected: unknown, place: Place) => boolean>> = {
  equals: (expected, { value }) => sameValue(expected, value),
  equalsOrAbsent: (expected, { value, isThere }) => !isThere || sameValue(expected, value),
  absent: (expected, { isThere }) => expected === !isThere,
  textEquals: (expected, { value }) => textsOf(value).includes(String(expected)),
  matches: (expected, { value }) => new RegExp(String(expected), 'u').test(String(value)),
  length: (expected, { value }) => (Array.isArray(value) || typeof value === 'string') && value.length === expected,
  distinct: (expected, { values }) => new Set(values.map(value => JSON.stringify(value))).size === expected,
  type: (expected, { value }) => typeName(value) === expected,
  validJson: (expected, { value }) => (typeof value === 'string' && parsed(value) !== undefined) === expected,
  maxBytes: (expected, { value }) => typeof expected === 'number' && Buffer.byteLength(plain(value)) <= expected,
  excludes: (expected, { value }) => !plain(value).includes(String(expected)),
  noEmptyText: (expected, { value }) => !hasEmptyText(value) === expected,
  equalsPath: (expected, { value, at }) => sameValue(at(expected), value),
  startsWithPath: (expected, { value, at }) => startsWith(value, at(expected))
}

/**
 * A reference is a path in the same request, or `{turn, path}`. The path of the place itself means the request before,
 * since comparing a place with itself says nothing.
 */
function placeAt(path: string, turn: number, upstream: readonly UpstreamSaw[]): Place {
  const bodyOf = (n: unknown) => upstream[(numberOf(n) ?? 0) - 1]?.body
  const { values, many } = reach(bodyOf(turn), path)
  const at = (reference: unknown) => {
    if (isFields(reference)) return found(reach(bodyOf(reference.turn), String(reference.path)))
    return found(reach(bodyOf(reference === path ? turn - 1 : turn), String(reference)))
  }
  return { value: found({ values, many }), values, isThere: values.length > 0, at }
}

function found({ values, many }: Reached): unknown {
  return many ? values : values[0]
}

function startsWith(value: unknown, start: unknown): boolean {
  if (typeof value === 'string' && typeof start === 'string') return value.startsWith(start)
  if (!Array.isArray(value) || !Array.isArray(start)) return false
  return start.length <= value.length && start.every((one, at) => sameValue(one, value[at]))
}

/** The text of a content: itself, or its text parts, joined in either of the two usual ways. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  const texts = listOf(value).map(part => stringOf(fieldsOf(part).text) ?? '')
  return [texts.join(''), texts.join('\n\n')]
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Is there an empty or blank text block anywhere inside? */
function hasEmptyText(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasEmptyText)
  if (!isFields(value)) return false
  if (value.type === 'text' && (stringOf(value.text) ?? '').trim() === '') return true
  return Object.values(value).some(hasEmptyText)
}
