import type { AssistantMessage } from './chat.ts'
import { textOf } from './text.ts'
import type { Emit } from './turn.ts'

/**
 * Sends a finished message as if it had been streamed: reasoning, text, refusal, fields, then its calls, whole.
 * `logprobs`: of the text, which comes in one piece, and they with it.
 */
export async function replay(message: AssistantMessage, emit: Emit | undefined, logprobs?: unknown): Promise<void> {
  if (emit === undefined) return
  const { reasoning, refusal, extra, calls } = message
  const text = textOf(message.content)
  if (reasoning) await emit({ type: 'reasoning', ...reasoning })
  if (text) await emit({ type: 'text', text, ...(logprobs !== undefined && { logprobs }) })
  if (refusal) await emit({ type: 'refusal', text: refusal })
  if (extra) await emit({ type: 'fields', fields: extra })
  for (const [index, call] of calls.entries()) {
    await emit({
      type: 'call',
      index,
      id: call.id,
      name: call.name,
      arguments: call.arguments,
      ...(call.extra && { extra: call.extra })
    })
  }
}
