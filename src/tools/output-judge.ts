import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/errors.ts'
import { isFields } from '../core/is-fields.ts'
import { isDeeperThan } from '../core/json-depth.ts'
import { type OutputFormat, SCHEMA_PARAM } from '../core/output-format.ts'
import { cutText } from './cut-text.ts'
import { admitSchema } from './schema-admission.ts'
import { type SchemaReasons, schemaReasons } from './schema-reasons.ts'

/** What is wrong with the text of an answer; empty = nothing. */
export type OutputJudge = (text: string) => readonly string[]

const MAX_DEPTH = 64
const MAX_REASONS = 5
const MAX_REASON = 300

/** By the text of the schema: every request brings an object of its own. */
const known = new LRUCache<string, SchemaReasons>({ max: 500 })

/**
 * Makes a format ready to judge answers by. Throws `invalid_request` for a schema that cannot be used, under the same
 * rules as those of tools (contract §6.1): a client must not be able to make a check that never ends.
 */
export function outputJudge(format: OutputFormat): OutputJudge {
  const reasonsOf = format.type === 'json_object' ? notAnObject : reasonsBy(format)
  return text => {
    const value = parsed(text)
    return typeof value === 'string' ? [value] : shown(reasonsOf(value.json, text.length))
  }
}

function notAnObject(value: unknown): readonly string[] {
  return isFields(value) ? [] : ['must be a JSON object']
}

function reasonsBy({ schema }: Extract<OutputFormat, { type: 'json_schema' }>): SchemaReasons {
  if (schema === undefined) return () => []
  const key = JSON.stringify(schema)
  const before = known.get(key)
  if (before !== undefined) return before
  try {
    admitSchema(schema, SCHEMA_PARAM)
    const made = schemaReasons(schema)
    known.set(key, made)
    return made
  } catch (cause) {
    if (!(cause instanceof GatewayError))
      throw unusable(`${SCHEMA_PARAM} cannot be used to check an answer.`, { cause })
    const { reason } = cause.detail
    throw unusable(cause.message, reason === undefined ? {} : { reason })
  }
}

function unusable(sentence: string, detail: { readonly reason?: string; readonly cause?: unknown }): GatewayError {
  return new GatewayError('invalid_request', sentence, { param: SCHEMA_PARAM, ...detail })
}

/** The value, or why there is none. */
function parsed(text: string): { readonly json: unknown } | string {
  if (text === '') return 'it is empty'
  if (isDeeperThan(text, MAX_DEPTH)) return `it is nested deeper than ${MAX_DEPTH}`
  try {
    return { json: JSON.parse(text) }
  } catch {
    return 'it is not valid JSON'
  }
}

/** Paths and property names come from the model and from the schema, at any length. */
function shown(reasons: readonly string[]): readonly string[] {
  return [...new Set(reasons)].slice(0, MAX_REASONS).map(reason => cutText(reason, MAX_REASON))
}
