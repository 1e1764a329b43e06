import type { Content, Message } from '../core/chat.ts'
import { newMessage } from '../core/new-message.ts'
import type { OutputFormat } from '../core/output-format.ts'
import { revise, type Turn } from '../core/turn.ts'

/**
 * Tells the model of the format in words, after the last user message; every round of the loop then begins with them.
 * `response_format` does not go upstream: this is for models that do not know it.
 */
export function toldInWords(turn: Turn, format: OutputFormat): Turn {
  const { response_format: _, ...params } = turn.prompt.params
  return revise(turn, { params, messages: withInstructions(turn.prompt.messages, instructions(format)) })
}

function withInstructions(messages: readonly Message[], text: string): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const last = messages[at]
  if (last?.role !== 'user') return [...messages, newMessage('user', text)]
  return messages.with(at, { ...last, content: appended(last.content, `\n${text}`) })
}

function appended(content: Content, text: string): Content {
  return typeof content === 'string' ? content + text : [...content, { type: 'text', text }]
}

function instructions(format: OutputFormat): string {
  const alone = 'without a code fence and without any text before or after it'
  if (format.type === 'json_object') return `Answer with one JSON object only, ${alone}.`
  const what = format.description ? ` What it is: ${format.description}` : ''
  if (format.schema === undefined) return `Answer with JSON only, ${alone}.${what}`
  return `Answer with JSON only, ${alone}. It must follow this JSON Schema.${what}\n${JSON.stringify(format.schema)}`
}
