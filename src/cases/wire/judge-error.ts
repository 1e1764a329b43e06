import { type Fields, listOf, stringOf } from '../fields.ts'
import { sameValue, shown } from '../same-value.ts'
import type { ReadAnswer } from './answer.ts'
import type { ClientSaw } from './observation.ts'
import { isAnthropicError, isOpenaiError } from './rules.ts'

/** The fields of `expect.error` held against the error a client got. */
export function judgeError(expected: Fields, answer: ReadAnswer, client: ClientSaw): readonly string[] {
  const { error, isStream } = answer
  if (error === undefined) return [`there is none; status ${client.status}, body ${shown(client.text)}`]
  const message = stringOf(error.message) ?? ''
  const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
    inStream: value => value === isStream,
    messageIncludes: value => message.includes(String(value)),
    messageExcludes: value => !message.includes(String(value)),
    param: value => sameValue(value, error.param),
    typeOneOf: value => listOf(value).includes(error.type),
    codeOneOf: value => listOf(value).includes(error.code),
    shape: value => hasShape(value, answer)
  }
  return Object.entries(expected).flatMap(([field, value]) => {
    const check = checks[field]
    if (!check) return `the runner does not know error.${field}`
    return check(value) ? [] : `${field} ${shown(value)} does not hold for ${shown(error)}, in stream: ${isStream}`
  })
}

function hasShape(shape: unknown, { documents, error }: ReadAnswer): boolean {
  const body = documents.find(document => 'error' in document)
  if (shape === 'openai') return isOpenaiError(error)
  return shape === 'anthropic' && isAnthropicError(body)
}
