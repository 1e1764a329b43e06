import { GatewayError } from '../../core/errors.ts'

/** `invalid_request` for a field; `rule` goes on after its name. */
export function wrongField(param: string, rule: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${rule}.`, { param })
}
