import { GatewayError } from '../../src/core/errors.ts'

/** The error a function refuses with; fails when it does not. */
export function refusal(run: () => unknown): { code: string; message: string; param: string | undefined } {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, message: error.message, param: error.detail.param }
  }
  throw new Error('was not refused')
}
