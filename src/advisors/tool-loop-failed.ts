import { GatewayError } from '../core/errors.ts'
import { matchesGlob } from '../core/glob.ts'
import type { Settled } from './tool-loop-run.ts'

/**
 * The error of a turn whose batch came to a code that the operator will not have told to the model
 * (`loop.fail_turn_on`); `undefined` when there is none. An address that was refused goes by the name tenants know.
 */
export function failureOf(batch: readonly Settled[], failTurnOn: readonly string[]): GatewayError | undefined {
  if (failTurnOn.length === 0) return undefined
  for (const { call, result } of batch) {
    const { code } = result
    if (code === undefined) continue
    const shown = code === 'egress_blocked' ? 'tool_unreachable' : code
    if (![code, shown].some(each => matchesGlob(each, failTurnOn))) continue
    return new GatewayError('tool_failed', `The tool ${call.name} failed, and this gateway ends a turn for that.`, {
      reason: shown
    })
  }
  return undefined
}
