import { GatewayError } from '../core/errors.ts'
import { admitAugment } from './augment-admission.ts'
import { completeAugment } from './complete-augment.ts'
import type { ToolDefaults } from './definition.ts'

/**
 * What is wrong with the `augment` of `tool_defaults` whatever tool it comes to; goes on after the name of the field.
 * Without this it would be found out when the first tool is registered.
 */
export function defaultAugmentProblem({ augment }: ToolDefaults): string | undefined {
  try {
    admitAugment(completeAugment(augment), {})
    return undefined
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return error.message.replace(/^augment /, '').replace(/\.$/, '')
  }
}
