import type { AssistantMessage, Finish, Message, Usage } from '../core/chat.ts'
import type { ChatShapes } from '../core/chat-shapes.ts'
import { cleanMessage } from '../core/clean-message.ts'
import { GatewayError } from '../core/errors.ts'
import { newMessageId } from '../core/ids.ts'
import { isFields } from '../core/is-fields.ts'
import { addUsage } from '../core/usage.ts'
import { RemoteFailure } from './remote-failure.ts'
import { loose, reunited } from './remote-messages.ts'

/** What a remote advisor is asked: before the model is, or once it has answered. */
export type Question =
  | { readonly phase: 'request'; readonly messages: readonly Message[] }
  | { readonly phase: 'response'; readonly message: AssistantMessage; readonly usage?: Usage | undefined }

/** What it wants to be done. */
export type Verdict = (
  | { readonly kind: 'go_on' }
  | { readonly kind: 'messages'; readonly messages: readonly Message[] }
  | { readonly kind: 'message'; readonly message: AssistantMessage }
  | { readonly kind: 'answer'; readonly message: AssistantMessage; readonly finish: Finish }
  /** `code` is its own word for the reason. */
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
) & {
  /** Of model calls that it made itself. */
  readonly usage?: Usage | undefined
}

export interface Asked {
  readonly question: Question
  /** The JSON values that stood for the messages of a request. */
  readonly sent: () => readonly unknown[]
  readonly shapes: ChatShapes
  /** Reads usage as OpenAI spells it; `undefined` when nothing useful is there. */
  readonly decodeUsage: (value: unknown) => Usage | undefined
}

const REFUSED = 'The request was refused by an advisor of this gateway.'
const DECISIONS = ['messages', 'message', 'answer', 'error'] as const

/**
 * The verdict that a JSON value holds: one of `messages` (to a request), `message` (to a response), `answer` and
 * `error`, or nothing but `usage`. Fields it does not know are ignored. Throws `RemoteFailure` for any other form.
 */
export function verdictOf(value: unknown, asked: Asked): Verdict {
  if (!isFields(value)) throw new RemoteFailure('wrong_form', 'not an object')
  const made = DECISIONS.filter(name => value[name] !== undefined && value[name] !== null)
  if (made.length > 1) throw new RemoteFailure('wrong_form', made.join(' and '))
  const usage = asked.decodeUsage(value.usage)
  const [decision] = made
  if (decision === undefined && usage === undefined) throw new RemoteFailure('wrong_form', 'no decision')
  const verdict = decision === undefined ? { kind: 'go_on' as const } : decided(decision, value[decision], asked)
  const all = addUsage(usage, verdict.usage)
  return { ...verdict, ...(all && { usage: all }) }
}

function decided(decision: (typeof DECISIONS)[number], value: unknown, asked: Asked): Verdict {
  switch (decision) {
    case 'messages':
      return messages(value, asked)
    case 'message':
      return message(value, asked)
    case 'answer':
      return answer(value, asked)
    case 'error':
      return error(value)
  }
}

function messages(wire: unknown, { question, sent, shapes }: Asked): Verdict {
  if (question.phase !== 'request') throw new RemoteFailure('wrong_form', 'messages')
  const decoded = decode(() => shapes.decodeMessages(wire, newMessageId))
  const now = reunited({ messages: question.messages, sent: sent(), wire: wire as readonly unknown[], decoded })
  const before = loose(question.messages)
  if ([...loose(now)].some(id => !before.has(id))) throw new RemoteFailure('wrong_form', 'messages: calls and results')
  return { kind: 'messages', messages: now }
}

/** Calls may be taken out or given other arguments, but only those that the model made. */
function message(wire: unknown, { question, shapes }: Asked): Verdict {
  if (question.phase !== 'response') throw new RemoteFailure('wrong_form', 'message')
  const made = question.message.calls
  const now = decode(() => shapes.decodeReply(wire, question.message.id))
  const isOurs = now.calls.every(({ id, name }) => made.some(call => call.id === id && call.name === name))
  if (!isOurs || new Set(now.calls.map(({ id }) => id)).size < now.calls.length) {
    throw new RemoteFailure('wrong_form', 'message.tool_calls')
  }
  return { kind: 'message', message: now }
}

function answer(wire: unknown, { question, shapes, decodeUsage }: Asked): Verdict {
  const id = question.phase === 'response' ? question.message.id : newMessageId()
  const { message, finish, usage } = decode(() => shapes.decodeAnswer(wire, id))
  const spent = decodeUsage(usage)
  return { kind: 'answer', message, finish, ...(spent && { usage: spent }) }
}

function error(value: unknown): Verdict {
  if (!isFields(value)) throw new RemoteFailure('wrong_form', 'error')
  const { code, message } = value
  return {
    kind: 'error',
    code: typeof code === 'string' && /^[A-Za-z][\w.-]{0,63}$/.test(code) ? code : 'refused',
    message: (typeof message === 'string' ? cleanMessage(message) : undefined) ?? REFUSED
  }
}

function decode<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError) throw new RemoteFailure('wrong_form', error.detail.param)
    throw error
  }
}
