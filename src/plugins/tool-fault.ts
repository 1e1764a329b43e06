import { GatewayError } from '../core/errors.ts'
import { admitAugment } from '../tools/augment-admission.ts'
import type { AugmentField } from '../tools/definition.ts'
import { admitName } from '../tools/registration.ts'
import { admitSchema } from '../tools/schema-admission.ts'
import { isCheckable } from '../tools/schema-check.ts'
import type { CodeTool } from './define-tool.ts'

export interface ToolRules {
  /** Names of the gateway's own tools. */
  readonly reserved: readonly string[]
  /** Arguments that the model is asked for beside a tool's own. */
  readonly augment: readonly AugmentField[]
}

const MAX_TEXT = 1024

/** What is wrong with a tool of a plugin by the rules for every tool (contract §6.1); `undefined` = nothing. */
export function toolFault(code: CodeTool<unknown>, { reserved, augment }: ToolRules): string | undefined {
  const { name, description, input_schema, run } = code
  if (typeof name !== 'string' || typeof description !== 'string') return 'name and description must be text'
  if (typeof input_schema !== 'object' || input_schema === null) return 'input_schema must be a JSON Schema'
  if (typeof run !== 'function') return 'run must be a function'
  if (description.length > MAX_TEXT) return `description must have at most ${MAX_TEXT} characters`
  try {
    admitName(name, reserved)
    admitSchema(input_schema, 'input_schema')
    admitAugment(augment, input_schema)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return error.message.replace(/\.$/, '')
  }
  return isCheckable(input_schema) ? undefined : 'input_schema cannot be compiled'
}
