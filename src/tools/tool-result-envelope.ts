import { isFields } from '../core/is-fields.ts'
import { exactJson } from './exact-json.ts'

/** An answer of the type `application/vnd.loopgate.tool-result+json` (contract §6.5). */
export interface Envelope {
  /** Its blocks, one below the other; `structured` where there are none. */
  readonly text: string
  readonly structured: unknown
  readonly isError: boolean
  /** `error.message`. */
  readonly message?: string
  /** What the endpoint says of whether its result is to be the answer. */
  readonly returnDirect?: boolean
}

/** `undefined`: not an envelope. Fields that are not known are left alone. */
export function readEnvelope(source: string): Envelope | undefined {
  const parsed = exactJson(source)
  if (!parsed.ok || !isFields(parsed.exact) || !isFields(parsed.value)) return undefined
  const { content = [], structured, is_error = false, error, return_direct } = parsed.exact
  if (!Array.isArray(content) || typeof is_error !== 'boolean') return undefined
  const texts = content.map(textOfBlock)
  if (texts.some(text => text === undefined)) return undefined
  const text = texts.length === 0 && structured !== undefined ? JSON.stringify(structured) : texts.join('\n')
  const message = isFields(error) && typeof error.message === 'string' ? error.message : undefined
  return {
    text,
    structured: parsed.value.structured,
    isError: is_error || isFields(error),
    ...(message !== undefined && { message }),
    ...(typeof return_direct === 'boolean' && { returnDirect: return_direct })
  }
}

/** What a model that reads text gets of a block; `undefined`: not a block. */
function textOfBlock(block: unknown): string | undefined {
  if (!isFields(block)) return undefined
  const { type, text, json, data, uri, name } = block
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : undefined
    case 'json':
      return 'json' in block ? JSON.stringify(json) : undefined
    case 'image':
    case 'audio':
      return typeof data === 'string' ? `[${type}, ${Buffer.byteLength(data, 'base64')} bytes]` : undefined
    case 'resource_link':
      return typeof uri === 'string' ? [name, uri].filter(each => typeof each === 'string').join(': ') : undefined
    default:
      return undefined
  }
}
