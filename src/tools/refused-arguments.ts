import type { ToolCall } from '../core/chat.ts'
import type { ToolResult } from '../core/turn.ts'
import { cutText } from './cut-text.ts'

const MAX_COMPLAINT = 1000

/** What the model is told of arguments that were not accepted; the tool has not run. */
export function refusedArguments({ name }: Pick<ToolCall, 'name'>, why: string): ToolResult {
  const content = cutText(`The arguments of ${name} were not accepted: ${why}`, MAX_COMPLAINT)
  return { content, status: 'refused', code: 'tool_args_invalid' }
}
