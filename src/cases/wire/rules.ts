/** The stream rules W1 to W16 (contract §3.5), held against the bytes that a client got. */
import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'
import { shown } from '../same-value.ts'
import type { ReadAnswer } from './answer.ts'
import { shapeOf } from './anthropic.ts'
import type { WireObservation } from './observation.ts'
import { callsRule } from './rule-calls.ts'

/** What a rule looks at. */
export interface Evidence {
  readonly request: Fields
  readonly path: string
  readonly answer: ReadAnswer
  readonly observation: WireObservation
  /** Names of the tools the gateway runs. */
  readonly gatewayTools: readonly string[]
  /** `retry-after` of the last upstream answer. */
  readonly retryAfter?: string
}

/** Says what breaks the rule; nothing when it is kept. */
export type Rule = (evidence: Evidence) => string | undefined

const FINISHES = ['stop', 'length', 'tool_calls', 'content_filter']

/** What breaks the rule of this name, or that there is no such rule. */
export function brokenRule(name: string, evidence: Evidence): string | undefined {
  const rule = RULES[name]
  const why = rule ? rule(evidence) : 'there is no such rule'
  return why === undefined ? undefined : `${name}: ${why}`
}

const RULES: Readonly<Record<string, Rule>> = {
  W1({ answer, observation: { client } }) {
    if (!answer.isStream) return `content-type is ${shown(client.headers['content-type'])}`
    if (!client.isUtf8) return 'the bytes are no UTF-8'
    if (client.text.startsWith('\ufeff')) return 'it begins with a BOM'
    if (client.text.includes('\r')) return 'it holds a carriage return'
    if (!client.headers['cache-control']?.includes('no-cache')) return 'cache-control is not no-cache'
    if (client.headers['x-accel-buffering'] !== 'no') return 'x-accel-buffering is not no'
    return client.headers['content-encoding'] === undefined ? undefined : 'it is compressed'
  },
  W2({ answer: { frames } }) {
    const bad = frames.find(frame => !frame.isComment && !isData(frame.data))
    if (bad) return `a frame without data: ${shown(bad.lines.join('\n'))}`
    return frames.every(({ isWhole }) => isWhole) ? undefined : 'the last frame has no blank line after it'
  },
  W3({ answer: { frames } }) {
    const bad = frames.find(
      ({ lines }) => lines.some(line => line.startsWith(':')) && !(lines.length === 1 && lines[0] === ': ka')
    )
    return bad && `a comment that is not ": ka" alone: ${shown(bad.lines.join('\n'))}`
  },
  W4({ answer }) {
    const [first, ...more] = chunksOf(answer)
    for (const chunk of first ? [first, ...more] : []) {
      if (!Array.isArray(chunk.choices)) return `choices is no list: ${shown(chunk)}`
      if (chunk.object !== 'chat.completion.chunk') return `object is ${shown(chunk.object)}`
      const differs = ['id', 'created', 'model'].find(key => chunk[key] === undefined || chunk[key] !== first?.[key])
      if (differs) return `${differs} is missing or changes: ${shown(chunk[differs])}`
      if ('loopgate' in chunk && chunk.choices.length > 0) return 'an extra on a chunk with choices'
    }
    return first ? undefined : 'there is no chunk'
  },
  W5({ answer }) {
    for (const [index, choices] of choicesOf(answer)) {
      const roles = choices.map(({ delta }) => fieldsOf(delta).role)
      if (roles[0] !== 'assistant') return `the first chunk of choice ${index} has no role`
      if (roles.slice(1).some(role => role !== undefined)) return `the role of choice ${index} is said twice`
    }
    return choicesOf(answer).size > 0 ? undefined : 'there is no choice'
  },
  W6: ({ answer }) => callsRule([...choicesOf(answer).values()]),
  W7({ answer }) {
    for (const [index, choices] of choicesOf(answer)) {
      if (choices.some(choice => !('finish_reason' in choice))) return 'a choice without the key finish_reason'
      const finishes = choices.map(({ finish_reason }) => finish_reason).filter(word => word !== null)
      if (finishes.length !== 1) return `choice ${index} has ${finishes.length} finish reasons`
      if (!FINISHES.includes(String(finishes[0]))) return `finish_reason is ${shown(finishes[0])}`
    }
    return choicesOf(answer).size > 0 ? undefined : 'there is no choice'
  },
  W8({ answer, request }) {
    const chunks = chunksOf(answer)
    const at = chunks.findIndex(({ usage }) => isFields(usage))
    if (fieldsOf(request.stream_options).include_usage !== true)
      return at === -1 ? undefined : 'usage was not asked for'
    const others = chunks.filter((_, n) => n !== at)
    if (others.some(({ usage }) => usage !== null)) return 'a chunk beside the usage chunk without usage: null'
    if (at === -1) return undefined
    if (listOf(chunks[at]?.choices).length > 0) return 'the usage chunk has choices'
    const finished = chunks.findIndex(({ choices }) =>
      listOf(choices).some(one => fieldsOf(one).finish_reason !== null)
    )
    return finished !== -1 && finished < at ? undefined : 'the usage chunk is not after the finish'
  },
  W9({ answer: { frames }, observation: { client } }) {
    if (frames.filter(({ data }) => data?.trim() === '[DONE]').length !== 1) return 'not exactly one [DONE]'
    return client.text.endsWith('\n\ndata: [DONE]\n\n') ? undefined : 'data: [DONE] is not the last'
  },
  W10({ answer }) {
    const errors = answer.documents.filter(document => 'error' in document)
    if (!answer.isStream || errors.length !== 1) return `${answer.isStream ? errors.length : 'no'} error frames`
    if (answer.isDone) return '[DONE] beside a failure'
    if (answer.documents.at(-1) !== errors[0]) return 'the error frame is not the last'
    if (answer.finish !== undefined) return 'a finish reason beside a failure'
    return isOpenaiError(fieldsOf(errors[0]).error) ? undefined : `the error is ${shown(errors[0])}`
  },
  W11({ answer, path, observation: { client } }) {
    if (client.status === undefined || client.status < 400) return `the status is ${client.status}`
    if (!client.headers['content-type']?.startsWith('application/json')) return 'the body is no JSON'
    const [body] = answer.documents
    const isRight = path.startsWith('/v1/messages') ? isAnthropicError(body) : isOpenaiError(fieldsOf(body).error)
    return isRight ? undefined : `the body is ${shown(body)}`
  },
  W12({ answer, gatewayTools, request }) {
    const own = new Set(listOf(request.tools).map(tool => fieldsOf(fieldsOf(tool).function).name))
    const inner = answer.calls.find(({ name }) => gatewayTools.includes(name) && !own.has(name))
    if (inner) return `a call of the gateway's own tool ${inner.name} is shown`
    for (const choices of choicesOf(answer).values()) {
      const end = choices.findIndex(({ finish_reason }) => finish_reason !== null)
      if (end !== -1 && end !== choices.length - 1) return 'something comes after the finish reason'
      const empty = choices.find((choice, at) => at > 0 && isEmpty(choice))
      if (empty) return `an empty chunk: ${shown(empty)}`
    }
    return undefined
  },
  W13({ answer, request }) {
    const indexes = [...choicesOf(answer).keys()]
    if (indexes[0] !== 0) return 'choice 0 is not the first'
    return indexes.length <= (numberOf(request.n) ?? 1) ? undefined : `there are ${indexes.length} choices`
  },
  W14({ answer }) {
    const { frames, documents } = answer
    if (frames.some(({ isComment, event }) => !isComment && event === undefined)) return 'an event without a name'
    const unlike = frames.find(({ data, event }) => data !== undefined && !data.includes(`"type":"${event}"`))
    if (unlike) return `the name of an event is not its type: ${shown(unlike.lines.join('\n'))}`
    if (documents.at(-1)?.type === 'error') return undefined
    const shape = shapeOf(documents)
    if (shape.messageStarts !== 1 || documents[0]?.type !== 'message_start') return 'not one message_start at the start'
    if (shape.messageStops !== 1 || documents.at(-1)?.type !== 'message_stop') return 'message_stop is not the last'
    if (!shape.indexesContiguous) return 'the indexes of the blocks have a gap'
    return shape.overlap ? 'blocks overlap' : undefined
  },
  W15({ answer: { documents } }) {
    const seen = new Set<unknown>()
    for (const { type, index, delta } of documents) {
      if (type !== 'content_block_delta') continue
      if (seen.has(index)) return `something comes after the signature of block ${index}`
      if (fieldsOf(delta).type === 'signature_delta') seen.add(index)
    }
    return undefined
  },
  W16({ path, retryAfter, answer, observation: { client, webhooks } }) {
    const name = path.startsWith('/v1/messages') ? 'request-id' : 'x-request-id'
    if (!client.headers[name]) return `the header ${name} is missing`
    if (answer.isStream || client.status === undefined || client.status < 400) return undefined
    if (webhooks.length > 0 && client.headers['x-should-retry'] !== 'false') return 'a retry would run a tool again'
    return retryAfter === undefined || client.headers['retry-after'] === retryAfter ? undefined : 'retry-after is lost'
  }
}

function isData(data: string | undefined): boolean {
  if (data === undefined || data === '') return false
  if (data === '[DONE]') return true
  try {
    return isFields(JSON.parse(data))
  } catch {
    return false
  }
}

/** Chunks that are part of the answer, without error frames. */
function chunksOf({ documents }: ReadAnswer): readonly Fields[] {
  return documents.filter(document => !('error' in document))
}

function choicesOf(answer: ReadAnswer): Map<unknown, readonly Fields[]> {
  const choices = chunksOf(answer).flatMap(({ choices }) => listOf(choices).map(fieldsOf))
  return Map.groupBy(choices, ({ index }) => index)
}

function isEmpty({ delta, finish_reason, logprobs }: Fields): boolean {
  const values = Object.values(fieldsOf(delta)).filter(value => value !== '' && value !== null)
  return finish_reason === null && values.length === 0 && !isFields(logprobs)
}

/** All four keys, as the OpenAI API says. */
export function isOpenaiError(error: unknown): boolean {
  return (
    isFields(error) && stringOf(error.message) !== undefined && ['type', 'param', 'code'].every(key => key in error)
  )
}

export function isAnthropicError(body: unknown): boolean {
  const { type, error } = fieldsOf(body)
  return (
    type === 'error' && stringOf(fieldsOf(error).type) !== undefined && stringOf(fieldsOf(error).message) !== undefined
  )
}
