import { augmentedValues } from '../core/augmented.ts'
import type { ToolCall } from '../core/chat.ts'
import type { CallTold } from '../core/events.ts'
import type { Turn } from '../core/turn.ts'

/** What every event of a call says of it; a name that no tool of ours has is without a kind. */
export function toldOf(call: ToolCall, index: number, { round, prompt }: Turn): CallTold {
  const tool = prompt.tools.get(call.name)
  const augmented = augmentedValues(call, tool)
  return {
    ...{ round, index, callId: call.id, tool: call.name },
    ...(tool && tool.kind !== 'client' && { kind: tool.kind }),
    ...(tool?.version !== undefined && { version: tool.version }),
    ...(augmented && { augmented })
  }
}
