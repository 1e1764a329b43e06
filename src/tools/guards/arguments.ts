import { parseArguments, withoutFields } from '../../core/arguments.ts'
import type { ToolCall } from '../../core/chat.ts'
import { ownParameters } from '../../core/own-parameters.ts'
import type { Guard, ToolResult } from '../../core/turn.ts'
import { cutText } from '../cut-text.ts'
import { schemaCheck } from '../schema-check.ts'

const MAX_COMPLAINT = 1000

/**
 * Lets a call through only with a JSON object that fits its tool's schema, and passes it on written anew: once each
 * key, integers with all their digits. A builtin checks its own arguments, more leniently; augmentation fields are
 * checked by nobody (contract §4.6).
 */
export const validArguments: Guard = {
  name: 'arguments',
  async guard(call, turn, next) {
    const parsed = parseArguments(call.arguments)
    if (!parsed.ok) return refused(call, parsed.reason)
    const tool = turn.prompt.tools.get(call.name)
    const schema = tool && ownParameters(tool)
    if (schema !== undefined && tool?.kind !== 'builtin') {
      const complaint = schemaCheck(schema)(withoutFields(parsed.value, tool?.augment?.fields ?? []))
      if (complaint !== undefined) return refused(call, `${complaint}.`)
    }
    return next({ ...call, arguments: parsed.text }, turn)
  }
}

function refused({ name }: ToolCall, why: string): ToolResult {
  const content = cutText(`The arguments of ${name} were not accepted: ${why}`, MAX_COMPLAINT)
  return { content, status: 'refused', code: 'tool_args_invalid' }
}
