import type { z } from 'zod'
import { nearest } from './nearest.ts'
import type { Path } from './path.ts'
import { boundsOf, keysOf, shapeAt } from './shape.ts'

type Issue = z.core.$ZodIssue

/** What is wrong at one place, in words that say what is allowed. */
export interface Explained {
  readonly path: Path
  readonly message: string
}

const WORDS: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
  null: 'empty',
  undefined: 'missing'
}

/**
 * Turns an issue of the schema into sentences: unknown keys name the known ones, words and numbers what is allowed.
 * `value` is what stands at the issue's path; only its kind is ever shown, as it may be secret.
 */
export function explain(issue: Issue, value: unknown): readonly Explained[] {
  const path = issue.path.map(step => (typeof step === 'number' ? step : String(step)))
  if (issue.code === 'unrecognized_keys') return issue.keys.map(key => unknownKey(path, key))
  return [{ path, message: sentence(issue, path, value) }]
}

function unknownKey(path: Path, key: string): Explained {
  const known = keysOf(shapeAt(path))
  const meant = nearest(key, known)
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  return { path: [...path, key], message: `is not an option${hint}; known here: ${known.join(', ')}` }
}

function sentence(issue: Issue, path: Path, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined)
        return `is missing; it must be ${WORDS[issue.expected] ?? issue.expected}${rangeAt(path)}`
      return `must be ${WORDS[issue.expected] ?? issue.expected}${rangeAt(path)}, not ${kindOf(value)}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
    case 'too_small':
    case 'too_big':
      return tooMuch(issue, path)
    case 'invalid_union':
      return issue.errors[0]?.[0] && issue.message === 'Invalid input' ? issue.errors[0][0].message : issue.message
    case 'invalid_key':
      return `has a key that ${issue.issues[0]?.message ?? 'is not allowed'}`
    default:
      return issue.message
  }
}

function tooMuch(issue: Issue & { code: 'too_small' | 'too_big' }, path: Path): string {
  if (issue.message.startsWith('must ')) return issue.message
  if (issue.origin === 'number' || issue.origin === 'int') return `must be${rangeAt(path)}`
  const most = issue.code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`
  if (issue.origin === 'string') return `must have ${most} characters`
  return `must hold ${most} entries`
}

/** ` 0 to 65535`, ` at least 1`, or nothing where any number will do. */
function rangeAt(path: Path): string {
  const { minimum, maximum } = boundsOf(shapeAt(path))
  if (minimum === undefined) return ''
  if (maximum === undefined || maximum === Number.MAX_SAFE_INTEGER) return ` at least ${minimum}`
  return ` ${minimum} to ${maximum}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'empty (null)'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction'
  return WORDS[typeof value] ?? typeof value
}
