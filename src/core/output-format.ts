import type { Fields } from './chat.ts'
import { GatewayError } from './errors.ts'
import { isFields } from './is-fields.ts'

/** What a request wants its answer to be: any JSON object, or JSON that follows a schema (any JSON without one). */
export type OutputFormat =
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly schema?: Fields; readonly description?: string }

/** The field of a request that the schema stands in. */
export const SCHEMA_PARAM = 'response_format.json_schema.schema'

/**
 * Reads `response_format`; `undefined` for plain text and for formats that only a provider knows. Throws
 * `invalid_request` naming the field where a JSON Schema format is not spelled as OpenAI spells it.
 */
export function outputFormat({ response_format: format }: Fields): OutputFormat | undefined {
  if (!isFields(format)) return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  if (format.type !== 'json_schema') return undefined
  const { json_schema: wanted } = format
  if (!isFields(wanted)) throw mustBeObject('response_format.json_schema')
  const { schema, description } = wanted
  if (schema !== undefined && schema !== null && !isFields(schema)) throw mustBeObject(SCHEMA_PARAM)
  return {
    type: 'json_schema',
    ...(schema && { schema }),
    ...(typeof description === 'string' && { description })
  }
}

function mustBeObject(param: string): GatewayError {
  return new GatewayError('invalid_request', `${param} must be an object.`, { param })
}
