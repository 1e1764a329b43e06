import type { Answer, AssistantMessage, Fields, ToolCall } from '../../core/chat.ts'
import { without } from './fields.ts'
import { FINISH_REASON } from './finish.ts'
import { encodeUsage } from './usage.ts'

/** What is the same in every chunk of an answer, and in its JSON form. */
export interface AnswerHead {
  /** `chatcmpl-<ULID of the turn>` */
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  /** The name the client asked for. */
  readonly model: string
}

const OF_CHOICE = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'loopgate', 'obfuscation', 'error'])
const OF_MESSAGE = new Set(['role', 'content', 'refusal', 'tool_calls', 'function_call', 'reasoning_content'])

/** Answer → the body of a `chat.completion` (contract §2.3). `loopgate` is the gateway's own object, if any. */
export function encode(answer: Answer, { id, created, model }: AnswerHead, loopgate?: Fields): string {
  const { choice } = answer
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: encodeMessage(answer.message),
        logprobs: choice?.logprobs ?? null,
        finish_reason: FINISH_REASON[answer.finish]
      },
      ...(choice?.others ?? [])
    ],
    ...(answer.usage && { usage: encodeUsage(answer.usage) }),
    ...besideChoices(answer),
    ...(loopgate && { loopgate })
  })
}

/** `system_fingerprint`, `service_tier` and the like, as the last model call reported them. */
export function besideChoices({ choice }: Answer): Fields | undefined {
  return choice?.fields && without(choice.fields, OF_CHOICE)
}

/** Fields of a message that the gateway only passes on, e.g. `annotations`. */
export function passedOn(fields: Fields): Fields | undefined {
  return without(fields, OF_MESSAGE)
}

/** A call in full; a custom tool's as its provider wrote it. */
export function encodeCall({ id, name, arguments: text, extra }: ToolCall): Fields {
  if (extra?.type === 'custom') return { ...extra, id }
  return { id, type: 'function', function: { name, arguments: text }, ...extra }
}

function encodeMessage({ content, calls, refusal, reasoning, extra }: AssistantMessage): Fields {
  const saysNothing = content === '' && (calls.length > 0 || refusal !== undefined)
  return {
    role: 'assistant',
    content: saysNothing ? null : typeof content === 'string' ? content : content.map(encodePart),
    refusal: refusal ?? null,
    ...(reasoning && { reasoning_content: reasoning.text }),
    ...(extra && passedOn(extra)),
    ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) })
  }
}

function encodePart(part: Exclude<AssistantMessage['content'], string>[number]): Fields {
  return part.type === 'text' ? { type: 'text', text: part.text, ...part.extra } : part.value
}
