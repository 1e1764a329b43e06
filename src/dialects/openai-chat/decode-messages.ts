import type { AssistantMessage, Content, Fields, Message, Part, ToolCall, ToolMessage } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { WireCall, WireMessage } from './body.ts'
import { without } from './fields.ts'

/** A tool result that answers no call of the request. */
export interface UnmatchedResult {
  /** Position in the request's messages. */
  readonly index: number
  readonly callId: string
}

const SPOKEN = new Set(['role', 'content'])
const OF_ASSISTANT = new Set([...SPOKEN, 'tool_calls', 'function_call'])
const OF_TOOL = new Set([...SPOKEN, 'tool_call_id'])
const OF_FUNCTION = new Set([...OF_TOOL, 'name'])
const OF_CALL = new Set(['id', 'type', 'function'])
const OF_TEXT = new Set(['type', 'text'])

/**
 * Messages in the gateway's form. Everything but system messages and the last user message is history that the
 * client brought, and is marked so. A second result for one call is refused here; a result without a call is
 * reported, since its call may be open in the session.
 */
export function decodeMessages(
  wire: readonly WireMessage[],
  newId: () => string
): { readonly messages: readonly Message[]; readonly unmatched: readonly UnmatchedResult[] } {
  const question = wire.findLastIndex(({ role }) => role === 'user')
  const results = new Results()
  const messages = wire.map((message, index) => decodeMessage(message, index, index !== question, newId(), results))
  return { messages, unmatched: results.unmatched }
}

function decodeMessage(wire: WireMessage, index: number, isHistory: boolean, id: string, results: Results): Message {
  const history = isHistory ? ({ origin: 'client' } as const) : undefined
  switch (wire.role) {
    case 'system':
      return { role: 'system', id, content: required(wire, index), ...extra(wire, SPOKEN) }
    case 'developer':
      return { role: 'system', id, content: required(wire, index), developer: true, ...extra(wire, SPOKEN) }
    case 'user':
      return { role: 'user', id, content: required(wire, index), ...extra(wire, SPOKEN), ...history }
    case 'assistant': {
      const message = assistant(wire, index, id, results)
      return { ...message, ...history }
    }
    case 'tool':
      return { ...toolResult(wire, index, id, results), ...history }
    case 'function':
      return { ...functionResult(wire, index, id, results), ...history }
  }
}

function assistant(wire: WireMessage, index: number, id: string, results: Results): AssistantMessage {
  const content = contentOf(wire, index)
  const calls = callsOf(wire, index, results)
  return {
    role: 'assistant',
    id,
    content: content ?? '',
    calls,
    ...(content === '' && { empty: 'text' as const }),
    ...(content === undefined && { empty: wire.content === null ? ('null' as const) : ('absent' as const) }),
    ...extra(wire, OF_ASSISTANT)
  }
}

function callsOf(wire: WireMessage, index: number, results: Results): readonly ToolCall[] {
  if (!wire.tool_calls?.length && !wire.function_call) return []
  const calls = (wire.tool_calls ?? []).map((call, nth) => decodeCall(call, `messages[${index}].tool_calls[${nth}]`))
  if (wire.function_call) {
    const { name, arguments: text } = wire.function_call
    calls.push({ id: `call_${randomText(26)}`, name, arguments: argumentsOf(text) })
  }
  for (const { id, name } of calls) results.called(id, name)
  return calls
}

function decodeCall(call: WireCall, path: string): ToolCall {
  const id = call.id ?? ''
  if (id === '') throw invalid(`${path}.id`, 'must name the call')
  if (call.function) {
    const { name, arguments: text } = call.function
    return { id, name, arguments: argumentsOf(text), ...extra(call, OF_CALL) }
  }
  const custom = call.custom as { name?: unknown; input?: unknown } | undefined
  if (typeof custom?.name !== 'string') throw invalid(`${path}.function`, 'must be there')
  return { id, name: custom.name, arguments: argumentsOf(custom.input), extra: call }
}

/** Arguments are text; some clients send the object itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function toolResult(wire: WireMessage, index: number, id: string, results: Results): ToolMessage {
  const callId = wire.tool_call_id ?? ''
  if (callId === '') throw invalid(`messages[${index}].tool_call_id`, 'must name the call that this is the result of')
  results.answered(callId, index)
  return { role: 'tool', id, callId, content: contentOf(wire, index) ?? '', ...extra(wire, OF_TOOL) }
}

/** The deprecated form names the function and no call: it answers the latest open call of that name. */
function functionResult(wire: WireMessage, index: number, id: string, results: Results): ToolMessage {
  const callId = results.openCallOf(wire.name ?? '')
  if (callId === undefined) {
    throw invalid(`messages[${index}].name`, 'is the name of no unanswered function_call earlier in the request')
  }
  results.answered(callId, index)
  return { role: 'tool', id, callId, content: contentOf(wire, index) ?? '', ...extra(wire, OF_FUNCTION) }
}

function required(wire: WireMessage, index: number): Content {
  const content = contentOf(wire, index)
  if (content === undefined) throw invalid(`messages[${index}].content`, 'must be a string or an array of parts')
  return content
}

function contentOf({ content }: WireMessage, index: number): Content | undefined {
  if (typeof content === 'string') return content
  return content?.map((part, nth): Part => {
    if (part.type !== 'text') return { type: 'other', value: part }
    if (typeof part.text !== 'string') throw invalid(`messages[${index}].content[${nth}].text`, 'must be a string')
    return { type: 'text', text: part.text, ...extra(part, OF_TEXT) }
  })
}

function extra(value: Fields, known: ReadonlySet<string>): { extra?: Fields } | undefined {
  const rest = without(value, known)
  return rest && { extra: rest }
}

function invalid(param: string, rule: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${rule}.`, { param })
}

/** Which calls of the request are open, while it is read from its start. */
class Results {
  readonly unmatched: UnmatchedResult[] = []
  readonly #open = new Map<string, string>()
  readonly #answered = new Set<string>()

  called(id: string, name: string): void {
    this.#open.set(id, name)
    this.#answered.delete(id)
  }

  answered(callId: string, index: number): void {
    if (!this.#open.delete(callId)) {
      if (this.#answered.has(callId)) throw duplicate(index, callId)
      this.unmatched.push({ index, callId })
    }
    this.#answered.add(callId)
  }

  openCallOf(name: string): string | undefined {
    return [...this.#open].findLast(([, called]) => called === name)?.[0]
  }
}

function duplicate(index: number, callId: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `messages[${index}] is a second result for the tool_call_id ${callId}; each call has one result.`,
    { param: `messages[${index}].tool_call_id` }
  )
}
