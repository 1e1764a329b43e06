import type { Answer, Message, Usage } from '../core/chat.ts'
import type { HeldCall } from '../core/held-calls.ts'
import { textOf } from '../core/text.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import type { Seen } from './play.ts'

/** The laws that a turn broke, in words; none when all hold. */
export function broken(call: Seen, stream: Seen): string[] {
  return [
    ...alone(call).map(law => `call: ${law}`),
    ...alone(stream).map(law => `stream: ${law}`),
    ...heard(stream).map(law => `stream: ${law}`),
    ...alike(call, stream)
  ]
}

/** What holds for a turn in either mode. */
function alone({ answer, spent, left, begunAfterLeaving, late, kept }: Seen): string[] {
  const laws = inMemory(kept)
  if (late > 0) laws.push('a piece was sent after the turn had ended')
  if (begunAfterLeaving > 0) laws.push('a model call or a tool began after the client had left')
  if (!answer) return laws
  if (left) laws.push('the client left, and yet the turn answered')
  if (!sameUsage(answer.usage, spent)) laws.push('the usage is not the sum over all model calls')
  return [...laws, ...conversation(answer)]
}

function sameUsage(a: Usage | undefined, b: Usage | undefined): boolean {
  const figures = (usage: Usage | undefined) =>
    usage && [usage.prompt, usage.completion, usage.total, usage.cached, usage.cacheWrite, usage.reasoning]
  return JSON.stringify(figures(a)) === JSON.stringify(figures(b))
}

/** What a conversation must be for any provider to take it, and for memory to keep it. */
function conversation({ message, messages, held }: Answer): string[] {
  if (held) return handedOver(message, messages, held)
  const laws: string[] = []
  if (messages.at(-1)?.id !== message.id) laws.push('the answer is not the last of its messages')
  else if (messages.at(-1) !== message) laws.push('the answer differs from the last of its messages')
  return [...laws, ...whole(messages)]
}

/** Of a batch that the client goes on with, each call is there once, and those that ran have their results in order. */
function handedOver(message: Message, messages: readonly Message[], held: readonly HeldCall[]): string[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const laws = whole(messages.slice(0, at + 1))
  if (messages[at]?.id !== message.id) laws.push('the answer is not the last of its messages')
  const results = messages.slice(at + 1).map(({ id }) => id)
  const ended = held.flatMap(({ result }) => (result ? [result.id] : []))
  if (results.join() !== ended.join()) laws.push('the results of a batch are not those of the calls that ran')
  if (held.every(({ result }) => result)) laws.push('a batch was handed over that waits for nobody')
  return laws
}

function inMemory(kept: readonly StoredTurn[]): string[] {
  const ids = kept.flatMap(({ messages }) => messages.map(({ id }) => id))
  const laws = kept.flatMap(({ messages, held }) => whole(held ? untilBatch(messages) : messages))
  if (new Set(ids).size < ids.length) laws.push('an id is there twice')
  return laws.map(law => `memory: ${law}`)
}

function untilBatch(messages: readonly Message[]): readonly Message[] {
  return messages.slice(0, messages.findLastIndex(({ role }) => role === 'assistant') + 1)
}

function whole(messages: readonly Message[]): string[] {
  const laws: string[] = []
  if (new Set(messages.map(({ id }) => id)).size < messages.length) laws.push('a message id is there twice')
  const open = new Map<string, readonly string[]>()
  let wanted: string[] = []
  for (const each of messages) {
    if (each.role === 'tool') {
      if (wanted.shift() !== each.callId) laws.push('a result does not stand where its call wants it')
      continue
    }
    if (wanted.length > 0) laws.push('a call has no result')
    wanted = each.role === 'assistant' && each !== messages.at(-1) ? each.calls.map(({ id }) => id) : []
    if (new Set(wanted).size < wanted.length || wanted.some(id => open.has(id))) laws.push('a call id is there twice')
    for (const id of wanted) open.set(id, [])
  }
  if (wanted.length > 0) laws.push('a call has no result')
  return laws
}

/** What a client heard: every word once, in order, and last the answer. */
function heard({ answer, heard }: Seen): string[] {
  const laws: string[] = []
  const said = heard.map(delta => (delta.type === 'text' ? delta.text : '')).join('')
  const words = wordsOf(said)
  if (new Set(words).size < words.length) laws.push('a piece was sent twice')
  else if (words.some((word, at) => at > 0 && word < (words[at - 1] as number))) laws.push('pieces came out of order')
  if (!answer) return laws
  if (!said.endsWith(textOf(answer.message.content))) laws.push('what was sent does not end with the answer')
  const calls = heard.filter(delta => delta.type === 'call' && delta.id)
  if (calls.length !== answer.message.calls.length) laws.push('other calls were sent than the answer has')
  return laws
}

/** `#` stands for the digit that the companion advisor `mask` takes away. */
function wordsOf(text: string): number[] {
  return [...text.matchAll(/w([\d#]+)/g)].map(([, digits = '']) => Number(digits.replaceAll('#', '7')))
}

function alike(call: Seen, stream: Seen): string[] {
  // Where the client leaves depends on when pieces are sent, which only one of the two modes does.
  if (call.left || stream.left) return []
  const laws: string[] = []
  if (call.modelCalls !== stream.modelCalls) laws.push('call and stream made different numbers of model calls')
  if (errorOf(call) !== errorOf(stream))
    laws.push(`call and stream fail differently: ${errorOf(call)}, ${errorOf(stream)}`)
  if (call.answer?.finish !== stream.answer?.finish) laws.push('call and stream end differently')
  if (shapeOf(call.answer?.messages) !== shapeOf(stream.answer?.messages))
    laws.push('call and stream add other messages')
  return laws
}

function errorOf({ error }: Seen): string {
  if (error === undefined) return 'no error'
  return String((error as { code?: unknown }).code ?? error)
}

function shapeOf(messages: readonly Message[] = []): string {
  return JSON.stringify(
    messages.map(message => [
      message.role,
      textOf(message.content),
      message.role === 'assistant' ? message.calls.map(({ name, arguments: text }) => [name, text]) : []
    ])
  )
}
