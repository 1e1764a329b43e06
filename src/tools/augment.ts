import { argumentsWithout } from '../core/arguments.ts'
import type { Tool } from '../core/chat.ts'
import { augmentedSchema } from './augment-schema.ts'
import type { AugmentField } from './definition.ts'

/**
 * The tool with fields that the model is asked for beside its own arguments (contract §4.6). It is called without them,
 * but for those to be forwarded; everything else about it stays as it was.
 */
export function augmented(tool: Tool, fields: readonly AugmentField[]): Tool {
  if (fields.length === 0) return tool
  const { parameters: own, run } = tool
  const kept = fields.filter(({ forward }) => !forward).map(({ name }) => name)
  return {
    ...tool,
    parameters: augmentedSchema(own, fields),
    augment: { fields: fields.map(({ name }) => name), ...(own && { own }) },
    ...(run && { run: (call, turn) => run({ ...call, arguments: argumentsWithout(call.arguments, kept) }, turn) })
  }
}
