import { parseArguments } from './arguments.ts'
import type { Fields, Tool, ToolCall } from './chat.ts'
import { ownValue } from './own-value.ts'

/**
 * What a call gives for the augmentation fields of its tool (contract §4.6): `null` for each that the model left out,
 * and for all when its arguments cannot be read. Absent when the tool has none.
 */
export function augmentedValues(call: Pick<ToolCall, 'arguments'>, tool: Tool | undefined): Fields | undefined {
  if (tool?.augment === undefined) return undefined
  const parsed = parseArguments(call.arguments)
  const given = parsed.ok ? parsed.value : {}
  return Object.fromEntries(tool.augment.fields.map(name => [name, ownValue(given, name) ?? null]))
}
