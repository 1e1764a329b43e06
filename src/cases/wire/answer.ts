/** What a client makes of the bytes of an answer, on both surfaces, streamed or not. */
import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'
import { parsed } from '../same-value.ts'
import { anthropicAnswer } from './anthropic.ts'
import type { ClientSaw } from './observation.ts'
import { type Frame, framesOf } from './sse.ts'

export interface ReadAnswer {
  readonly isStream: boolean
  readonly frames: readonly Frame[]
  /** The JSON of every frame that holds one, or the one body. */
  readonly documents: readonly Fields[]
  /** Text, reasoning and refusal of choice 0. */
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly finish?: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly usage?: Fields
  readonly isDone: boolean
  /** The error object: of a frame, or of the body. */
  readonly error?: Fields
  readonly logprobTokens: readonly string[]
}

export function answerOf(client: ClientSaw, path: string): ReadAnswer {
  const isStream = (client.headers['content-type'] ?? '').startsWith('text/event-stream')
  const frames = isStream ? framesOf(client.text) : []
  const texts = isStream ? frames.flatMap(({ data }) => data ?? []) : [client.text]
  const documents = texts.map(text => parsed(text)?.value).filter(isFields)
  const error = documents.map(({ error }) => error).find(isFields)
  const read = path.startsWith('/v1/messages') ? anthropicAnswer(documents) : openaiAnswer(documents)
  return {
    isStream,
    frames,
    documents,
    ...read,
    isDone: frames.some(({ data }) => data === '[DONE]'),
    ...(error && { error })
  }
}

type Content = Omit<ReadAnswer, 'isStream' | 'frames' | 'documents' | 'isDone' | 'error'>

function openaiAnswer(documents: readonly Fields[]): Content {
  const choices = documents.flatMap(({ choices }) => listOf(choices).map(fieldsOf)).filter(({ index }) => index === 0)
  const messages = choices.map(choice => fieldsOf(choice.delta ?? choice.message))
  const joined = (field: string) => messages.map(message => stringOf(message[field]) ?? '').join('')
  const finish = choices.map(choice => stringOf(choice.finish_reason)).findLast(word => word !== undefined)
  const usage = documents.map(({ usage }) => usage).findLast(isFields)
  return {
    text: joined('content'),
    reasoning: joined('reasoning_content'),
    refusal: joined('refusal'),
    ...(finish !== undefined && { finish }),
    calls: callsOf(messages),
    ...(usage && { usage }),
    logprobTokens: choices
      .flatMap(({ logprobs }) => listOf(fieldsOf(logprobs).content))
      .map(token => String(fieldsOf(token).token))
  }
}

/** Pieces of calls put together by their index; whole calls of a message have none and stand for themselves. */
function callsOf(messages: readonly Fields[]): ReadAnswer['calls'] {
  const calls = new Map<unknown, { id: string; name: string; arguments: string }>()
  for (const message of messages) {
    for (const piece of listOf(message.tool_calls).map(fieldsOf)) {
      const key = numberOf(piece.index) ?? piece
      const call = calls.get(key) ?? { id: '', name: '', arguments: '' }
      const { name, arguments: text } = fieldsOf(piece.function)
      call.id += stringOf(piece.id) ?? ''
      call.name += stringOf(name) ?? ''
      call.arguments += stringOf(text) ?? ''
      calls.set(key, call)
    }
  }
  return [...calls.values()]
}
