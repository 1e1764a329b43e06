import type { ToolResult } from '../core/turn.ts'
import type { Exchange } from '../egress/exchange.ts'
import { cutText } from './cut-text.ts'
import type { ToolDefinition } from './definition.ts'
import { exactJson } from './exact-json.ts'
import { modelText } from './model-text.ts'
import { schemaCheck } from './schema-check.ts'
import { scrub } from './secret-scan.ts'
import { readEnvelope } from './tool-result-envelope.ts'
import { visibleText } from './visible-text.ts'

/** What the model and the run view are told; how often it was sent is not known here. */
export type Outcome = Pick<ToolResult, 'content' | 'status' | 'direct'> & { readonly code?: string }

type Answer = Extract<Exchange, { kind: 'answer' }>

export interface Reading {
  readonly definition: ToolDefinition
  /** Spellings of the tool's own secrets: an endpoint that echoes its request must not show them. */
  readonly secrets: readonly string[]
}

const ENVELOPE = 'application/vnd.loopgate.tool-result+json'
const MAX_MESSAGE = 1000

/** What came of a call, by the table of contract §6.5. */
export function webhookResult(exchange: Exchange, reading: Reading): Outcome {
  const { name, annotations } = reading.definition
  switch (exchange.kind) {
    case 'answer':
      return resultOf(exchange, reading)
    case 'refused':
      return failed('egress_blocked', `The tool ${name} is not reachable.`)
    case 'unreachable':
      return failed('tool_unreachable', `The tool ${name} is not reachable.`)
    case 'timeout': {
      const more = exchange.sent && annotations.read_only !== true ? ' Its outcome is unknown.' : ''
      return failed('tool_timeout', `The tool ${name} timed out.${more}`)
    }
    case 'reset':
      return unknown(name)
    case 'broken':
      // A tool that changes nothing has no outcome to be unsure of.
      return annotations.read_only === true ? generic('tool_bad_response', name) : unknown(name)
    case 'malformed':
      return generic('tool_bad_response', name)
  }
}

function resultOf(answer: Answer, reading: Reading): Outcome {
  const { status } = answer
  const { name } = reading.definition
  if (status === 200 || status === 201 || status === 204) return success(answer, reading)
  if (status === 400 || status === 422) return told('tool_args_rejected', messageIn(answer), reading)
  if (status === 429 || status === 503) return failed('tool_rate_limited', `The tool ${name} is busy.`)
  return generic(FAILURES[status] ?? failureOf(status), name)
}

const FAILURES: Readonly<Record<number, string>> = {
  401: 'tool_auth_failed',
  403: 'tool_auth_failed',
  408: 'tool_http_error',
  409: 'tool_in_progress',
  410: 'tool_gone',
  425: 'tool_http_error'
}

function failureOf(status: number): string {
  if (status < 300) return 'tool_bad_response'
  if (status < 400) return 'tool_redirect_refused'
  return status < 500 ? 'tool_misconfigured' : 'tool_http_error'
}

function success(answer: Answer, reading: Reading): Outcome {
  const { definition } = reading
  if (answer.status === 204 || answer.body.length === 0) return nothing(reading)
  const encoding = headerOf(answer, 'content-encoding')
  const { type, charset } = mediaTypeOf(answer)
  if (encoding !== '' && encoding !== 'identity') return generic('tool_bad_response', definition.name)
  const text = decode(answer.body, charset)
  if (text === undefined) return generic('tool_bad_response', definition.name)
  if (type.startsWith('text/')) return ok(text, reading, answer.cut)
  if (type !== 'application/json' && type !== ENVELOPE) return generic('tool_bad_response', definition.name)
  if (answer.cut) return generic('tool_response_too_large', definition.name)
  return type === ENVELOPE ? enveloped(text, reading) : json(text, reading)
}

function json(text: string, reading: Reading): Outcome {
  const { name, output_schema } = reading.definition
  const parsed = exactJson(text)
  if (!parsed.ok) return generic('tool_bad_response', name)
  if (output_schema !== undefined && schemaCheck(output_schema)(parsed.value) !== undefined) {
    return generic('tool_bad_response', name)
  }
  return ok(JSON.stringify(parsed.exact), reading, false)
}

function enveloped(text: string, reading: Reading): Outcome {
  const { name, output_schema } = reading.definition
  const envelope = readEnvelope(text)
  if (envelope === undefined) return generic('tool_bad_response', name)
  // What an endpoint may say of it is only no: that the result can be the answer is for the registration to say.
  const kept = envelope.returnDirect === false ? { direct: false as const } : undefined
  if (envelope.isError) return { ...told('tool_error', envelope.message ?? envelope.text, reading), ...kept }
  if (output_schema !== undefined && schemaCheck(output_schema)(envelope.structured) !== undefined) {
    return generic('tool_bad_response', name)
  }
  return { ...(envelope.text === '' ? nothing(reading) : ok(envelope.text, reading, false)), ...kept }
}

/** `error.message`, `message` or `detail` of a body that is JSON. */
function messageIn(answer: Answer): string | undefined {
  const { type, charset } = mediaTypeOf(answer)
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type) || answer.cut) return undefined
  const parsed = exactJson(decode(answer.body, charset) ?? '')
  if (!parsed.ok) return undefined
  const { error, message, detail } = fieldsOf(parsed.exact)
  const found = [fieldsOf(error).message, message, detail].find(
    each => each !== undefined && each !== null && each !== ''
  )
  // FastAPI puts a list there.
  return found === undefined || typeof found === 'string' ? found : JSON.stringify(found)
}

function ok(text: string, { definition, secrets }: Reading, cut: boolean): Outcome {
  const clean = scrub(visibleText(text), secrets)
  return { content: modelText({ text: clean, cut }, definition.result.max_model_bytes), status: 'ok' }
}

/** Models are told that there was nothing; a client whose answer it is gets just that. */
function nothing(reading: Reading): Outcome {
  return { ...ok('(no content)', reading, false), direct: '' }
}

function told(code: string, message: string | undefined, { definition, secrets }: Reading): Outcome {
  const clean = cutText(scrub(visibleText(message ?? ''), secrets), MAX_MESSAGE)
  return clean.trim() === '' ? generic(code, definition.name) : failed(code, clean)
}

function generic(code: string, name: string): Outcome {
  return failed(code, `The tool ${name} failed.`)
}

function unknown(name: string): Outcome {
  const content = `The tool ${name} broke off; its outcome is unknown; check before repeating.`
  return { content, status: 'unknown', code: 'tool_outcome_unknown' }
}

function failed(code: string, content: string): Outcome {
  return { content, status: 'error', code }
}

function mediaTypeOf(answer: Answer): { type: string; charset: string } {
  const [type = '', ...parameters] = headerOf(answer, 'content-type').split(';')
  const charset = parameters.map(each => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(each)?.[1]).find(each => each)
  return { type: type.trim().toLowerCase(), charset: charset ?? 'utf-8' }
}

function headerOf({ headers }: Answer, name: string): string {
  const value = headers[name]
  return (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).trim().toLowerCase()
}

/** `undefined`: an encoding nobody knows. */
function decode(body: Buffer, charset: string): string | undefined {
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return undefined
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
