import type { AssistantMessage, Content, Fields, Message, Prompt, Tool } from '../../core/chat.ts'
import { wireCall } from './wire-call.ts'

export interface Encoding {
  /** What stands for no text beside calls in the gateway's own messages. */
  readonly emptyAssistantContent: 'null' | 'empty_string'
  /** `auto`: as received, within the turn. `never`: left out. Else the field it goes into, within the turn. */
  readonly replayReasoning: string
  /** Id of the message that the turn begins with. */
  readonly question: string
  readonly stream: boolean
}

/** What only makes sense with tools; OpenAI refuses it without. */
const ABOUT_TOOLS = ['tool_choice', 'parallel_tool_calls']
/** Fields beside the text that hold reasoning in forms of their own. */
const REASONING_FIELDS = ['reasoning_details', 'thinking_blocks']

/** The body of a chat completion request, as JSON text. */
export function encode(prompt: Prompt, encoding: Encoding): string {
  const { loopgate_script: _, stream_options: streamOptions, ...params } = prompt.params as Record<string, unknown>
  if (prompt.tools.size === 0 && params.tool_choice !== 'required' && typeof params.tool_choice !== 'object') {
    for (const name of ABOUT_TOOLS) if (name in params) delete params[name]
  }
  const text = JSON.stringify({
    ...params,
    model: prompt.model,
    messages: encodeMessages(prompt.messages, encoding),
    ...(encoding.stream && {
      stream: true,
      stream_options: { ...(streamOptions as Fields | undefined), include_usage: true }
    })
  })
  if (prompt.tools.size === 0) return text
  return `${text.slice(0, -1)},"tools":[${Array.from(prompt.tools.values(), toolText).join(',')}]}`
}

/** Tools are the same objects in every request: their text is made once. */
const texts = new WeakMap<Tool, string>()

function toolText(tool: Tool): string {
  const known = texts.get(tool)
  if (known !== undefined) return known
  const { name, description, parameters = { type: 'object', properties: {} } } = tool
  const text = JSON.stringify(tool.declared ?? { type: 'function', function: { name, description, parameters } })
  texts.set(tool, text)
  return text
}

function encodeMessages(messages: readonly Message[], encoding: Encoding): readonly Fields[] {
  let inTurn = false
  return messages.map(message => {
    if (message.id === encoding.question) inTurn = true
    return message.role === 'assistant' ? encodeAssistant(message, inTurn, encoding) : encodeMessage(message)
  })
}

function encodeMessage(message: Exclude<Message, AssistantMessage>): Fields {
  const { role, extra } = message
  const content = contentOf(message.content)
  if (role === 'tool') return { role, tool_call_id: message.callId, content, ...extra }
  return { role: role === 'system' && message.developer ? 'developer' : role, content, ...extra }
}

function encodeAssistant(message: AssistantMessage, inTurn: boolean, encoding: Encoding): Fields {
  const { calls, refusal } = message
  const extra =
    encoding.replayReasoning === 'never' && message.extra !== undefined
      ? Object.fromEntries(Object.entries(message.extra).filter(([key]) => !REASONING_FIELDS.includes(key)))
      : message.extra
  const content = assistantContent(message, encoding)
  return {
    role: 'assistant',
    ...(content !== undefined && { content }),
    ...(refusal !== undefined && { refusal }),
    ...replayedReasoning(message, inTurn, encoding),
    ...extra,
    ...(calls.length > 0 && { tool_calls: calls.map(wireCall) })
  }
}

/** `undefined`: no `content` key at all, as its author wrote it. */
function assistantContent({ content, calls, refusal, empty }: AssistantMessage, encoding: Encoding): unknown {
  if (content !== '') return contentOf(content)
  if (empty === 'absent') return undefined
  if (empty === 'null') return null
  if (empty === 'text') return ''
  const saysElse = calls.length > 0 || refusal !== undefined
  return saysElse && encoding.emptyAssistantContent === 'null' ? null : ''
}

/** Earlier turns are without: providers refuse reasoning that is not of the turn. The client's own words stay its own. */
function replayedReasoning({ reasoning, origin }: AssistantMessage, inTurn: boolean, encoding: Encoding): Fields {
  const { replayReasoning } = encoding
  if (reasoning === undefined) return {}
  if (origin === 'client') return { [reasoning.field]: reasoning.text }
  if (!inTurn || replayReasoning === 'never') return {}
  return { [replayReasoning === 'auto' ? reasoning.field : replayReasoning]: reasoning.text }
}

function contentOf(content: Content): unknown {
  if (typeof content === 'string') return content
  return content.map(part => (part.type === 'text' ? { type: 'text', text: part.text, ...part.extra } : part.value))
}
