import { parseArguments, withoutFields } from '../../core/arguments.ts'
import { ownParameters } from '../../core/own-parameters.ts'
import type { Guard } from '../../core/turn.ts'
import { refusedArguments } from '../refused-arguments.ts'
import { schemaCheck } from '../schema-check.ts'

/**
 * Lets a call through only with a JSON object that fits its tool's schema, and passes it on written anew: once each
 * key, integers with all their digits. A builtin checks its own arguments, more leniently; augmentation fields are
 * checked by nobody (contract §4.6).
 */
export const validArguments: Guard = {
  name: 'arguments',
  async guard(call, turn, next) {
    const parsed = parseArguments(call.arguments)
    if (!parsed.ok) return refusedArguments(call, parsed.reason)
    const tool = turn.prompt.tools.get(call.name)
    const schema = tool && ownParameters(tool)
    if (schema !== undefined && tool?.kind !== 'builtin') {
      const complaint = schemaCheck(schema)(withoutFields(parsed.value, tool?.augment?.fields ?? []))
      if (complaint !== undefined) return refusedArguments(call, `${complaint}.`)
    }
    return next({ ...call, arguments: parsed.text }, turn)
  }
}
