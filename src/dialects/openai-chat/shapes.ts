import type { AssistantMessage, Fields, Finish } from '../../core/chat.ts'
import type { ChatShapes, DecodedAnswer } from '../../core/chat-shapes.ts'
import { isFields } from '../../core/is-fields.ts'
import { decodeMessages } from './decode-messages.ts'
import { without } from './fields.ts'
import { encodeMessage } from './message.ts'
import { encodeUsage } from './usage.ts'
import { checkMessages } from './wire-check.ts'
import { wrongField } from './wrong-field.ts'

/** Fields of a reply that have a place of their own in the gateway's form. */
const OF_REPLY = new Set(['refusal', 'reasoning_content', 'reasoning'])
const FINISHES: Readonly<Record<string, Finish>> = { stop: 'stop', length: 'length', content_filter: 'content_filter' }

/** This dialect's forms for parts that are no dialect, such as remote advisors. */
export const chatShapes: ChatShapes = {
  encodeMessage,
  encodeUsage,
  decodeMessages: (wire, newId) => decodeMessages(checkMessages(wire, 'messages'), newId).messages,
  decodeReply: reply,
  decodeAnswer(wire, id) {
    const answer = isFields(wire) && wire.choices !== undefined ? ofCompletion(wire, id) : ofMessage(wire, id)
    if (answer.message.calls.length > 0)
      throw wrongField('answer.tool_calls', 'must not be there: nobody would run them')
    return answer
  }
}

function ofMessage(wire: unknown, id: string): DecodedAnswer {
  return { message: reply(wire, id), finish: 'stop' }
}

function ofCompletion({ choices, usage }: Fields, id: string): DecodedAnswer {
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (!isFields(choice)) throw wrongField('answer.choices', 'must hold a choice')
  const finish = FINISHES[String(choice.finish_reason ?? 'stop')]
  if (finish === undefined)
    throw wrongField('answer.choices[0].finish_reason', 'must be stop, length or content_filter')
  return { message: reply(choice.message, id), finish, ...(usage !== undefined && { usage }) }
}

function reply(wire: unknown, id: string): AssistantMessage {
  const [checked] = checkMessages([isFields(wire) ? { role: 'assistant', ...wire } : wire], 'message')
  const [message] = decodeMessages(checked ? [checked] : [], () => id).messages
  if (message?.role !== 'assistant') throw wrongField('message.role', 'must be assistant')
  const { extra = {}, origin: _, empty: __, ...spoken } = message
  const rest = without(extra, OF_REPLY)
  const field = typeof extra.reasoning_content === 'string' ? 'reasoning_content' : 'reasoning'
  const reasoning = extra[field]
  return {
    ...spoken,
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning: { text: reasoning, field } }),
    ...(typeof extra.refusal === 'string' && { refusal: extra.refusal }),
    ...(rest && { extra: rest })
  }
}
