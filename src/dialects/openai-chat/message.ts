import type { AssistantMessage, Content, Message } from '../../core/chat.ts'
import { encodeCall, passedOn } from './encode.ts'

export interface EncodedMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly [field: string]: unknown
}

/** A message of a conversation as OpenAI spells it in a request: what a transcript shows, and could be sent again. */
export function encodeMessage(message: Message): EncodedMessage {
  const { role, extra } = message
  if (role === 'assistant') return encodeAssistant(message)
  const content = encodeContent(message.content)
  if (role === 'tool') return { role, tool_call_id: message.callId, content, ...(extra && passedOn(extra)) }
  return { role: role === 'system' && message.developer ? 'developer' : role, content, ...(extra && passedOn(extra)) }
}

function encodeAssistant({ content, calls, refusal, reasoning, extra }: AssistantMessage): EncodedMessage {
  const saysNothing = content.length === 0 && (calls.length > 0 || refusal !== undefined)
  return {
    role: 'assistant',
    content: saysNothing ? null : encodeContent(content),
    ...(refusal !== undefined && { refusal }),
    ...(reasoning && { reasoning_content: reasoning.text }),
    ...(extra && passedOn(extra)),
    ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) })
  }
}

function encodeContent(content: Content): unknown {
  if (typeof content === 'string') return content
  return content.map(part => (part.type === 'text' ? { type: 'text', text: part.text, ...part.extra } : part.value))
}
