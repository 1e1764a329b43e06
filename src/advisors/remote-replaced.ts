import type { Answer, AssistantMessage, Choice, Finish, Message } from '../core/chat.ts'
import type { HeldCall } from '../core/held-calls.ts'
import { newMessageId } from '../core/ids.ts'
import { textOf } from '../core/text.ts'
import type { Verdict } from './remote-verdict.ts'

/**
 * The answer with the message that a remote advisor put in its place. Nothing of the words that were replaced stays:
 * neither token by token nor as results that a limit left behind, nor the verdict on their form.
 */
export function replaced(answer: Answer, verdict: Extract<Verdict, { kind: 'answer' | 'message' }>): Answer {
  const { partialResults: _, limit, direct, finishReason, choice, held, structured, ...rest } = answer
  const said = { ...verdict.message, id: answer.message.id }
  const isMessage = verdict.kind === 'message'
  const isAsJudged = structured && textOf(said.content) === textOf(answer.message.content)
  return {
    ...rest,
    ...(isMessage && { ...(limit && { limit }), ...(direct && { direct }), ...(finishReason && { finishReason }) }),
    ...(isAsJudged && { structured }),
    ...(choice?.fields && { choice: { fields: choice.fields } satisfies Choice }),
    finish: isMessage ? finishOf(answer.finish, said.calls.length) : verdict.finish,
    ...(held ? ofBatch(answer.messages, held, said) : ofMessage(answer.messages, said))
  }
}

function finishOf(finish: Finish, calls: number): Finish {
  return finish === 'client_calls' && calls === 0 ? 'stop' : finish
}

type Said = Pick<Answer, 'message' | 'messages' | 'held'>

function ofMessage(messages: readonly Message[], message: AssistantMessage): Said {
  return { message, messages: messages.map(each => (each.id === message.id ? message : each)) }
}

/** Calls that were taken out are out of the batch that waits; where none is left for the client, nobody waits. */
function ofBatch(messages: readonly Message[], held: readonly HeldCall[], said: AssistantMessage): Said {
  const ran = new Set(held.flatMap(({ callId, result }) => (result ? [callId] : [])))
  const left = new Set([...ran, ...said.calls.map(({ id }) => id)])
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const calls = messages.flatMap(each => (each.id === said.id && each.role === 'assistant' ? each.calls : []))
  const batch: AssistantMessage = { ...said, calls: calls.filter(({ id }) => left.has(id)) }
  const [before, results] = [messages.slice(0, at), messages.slice(at + 1)]
  if (said.calls.length > 0) {
    const waiting = held.filter(({ callId }) => left.has(callId))
    return { message: said, messages: [...before, batch, ...results], held: waiting }
  }
  if (ran.size === 0) return { message: said, messages: [...before, said] }
  const message = { ...said, id: newMessageId() }
  return { message, messages: [...before, { ...batch, content: '' }, ...results, message] }
}
