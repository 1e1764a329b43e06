/** What the model `sim` says: deterministic, without clock or chance (contract §10). */
import type { Fields, Message, Tool, ToolCall } from '../../core/chat.ts'
import { messagesOfTurn } from '../../core/conversation.ts'
import { isFields } from '../../core/is-fields.ts'
import { textOf } from '../../core/text.ts'
import type { Turn } from '../../core/turn.ts'
import { argumentsFor } from './arguments.ts'
import { instance } from './instance.ts'
import { words } from './words.ts'

export interface Reply {
  readonly text: string
  readonly calls: readonly ToolCall[]
}

const MIN_SCORE = 2
const MAX_RESULT = 500

/** One call of the best tool not yet called, else of the search tool, else a text made of the results. */
export function reply(turn: Turn, searchToolName: string): Reply {
  const { messages, tools } = turn.prompt
  const asked = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? '')
  const rounds = messagesOfTurn(turn)
  const called = new Set(rounds.flatMap(message => (message.role === 'assistant' ? message.calls : [])).map(nameOf))
  const results = rounds.filter(({ role }) => role === 'tool')

  const tool = toolsAllowed(turn) ? bestTool([...tools.values()], { asked, called, searchToolName }) : undefined
  if (tool !== undefined) return callOf(tool.name, argumentsFor(tool.parameters, asked), messages)

  const mayButDidNot = tools.has(searchToolName) && !called.has(searchToolName) && results.length === 0
  if (mayButDidNot && toolsAllowed(turn)) return callOf(searchToolName, { query: asked }, messages)

  return { text: answerText(turn, results, asked), calls: [] }
}

function nameOf({ name }: ToolCall): string {
  return name
}

function toolsAllowed({ prompt }: Turn): boolean {
  return prompt.params.tool_choice !== 'none'
}

interface Wanted {
  readonly asked: string
  readonly called: ReadonlySet<string>
  readonly searchToolName: string
}

function bestTool(tools: readonly Tool[], { asked, called, searchToolName }: Wanted): Tool | undefined {
  const wanted = new Set(words(asked))
  let best: Tool | undefined
  let bestScore = MIN_SCORE - 1
  for (const tool of tools) {
    if (tool.name === searchToolName || called.has(tool.name)) continue
    const score = 2 * common(wanted, tool.name) + common(wanted, tool.description ?? '')
    if (score > bestScore) [best, bestScore] = [tool, score]
  }
  return best
}

function common(wanted: ReadonlySet<string>, text: string): number {
  return new Set(words(text).filter(word => wanted.has(word))).size
}

function callOf(name: string, values: Fields, messages: readonly Message[]): Reply {
  const before = messages.reduce((n, message) => n + (message.role === 'assistant' ? message.calls.length : 0), 0)
  return { text: '', calls: [{ id: `call_sim_${before + 1}`, name, arguments: JSON.stringify(values) }] }
}

function answerText({ prompt }: Turn, results: readonly Message[], asked: string): string {
  const format = prompt.params.response_format
  if (isFields(format) && format.type === 'json_schema' && isFields(format.json_schema)) {
    return JSON.stringify(instance(format.json_schema.schema))
  }
  const text =
    results.length === 0 ? `You said: ${asked}` : results.map(each => resultText(each, prompt.messages)).join('; ')
  return isFields(format) && format.type === 'json_object' ? JSON.stringify({ answer: text }) : text
}

function resultText(message: Message, messages: readonly Message[]): string {
  if (message.role !== 'tool') return ''
  const calls = messages.flatMap(each => (each.role === 'assistant' ? each.calls : []))
  const name = calls.findLast(({ id }) => id === message.callId)?.name ?? 'tool'
  return `${name}: ${Array.from(textOf(message.content)).slice(0, MAX_RESULT).join('')}`
}
