import type { GatewayError } from '../../core/errors.ts'

/** The body of an error as OpenAI spells it (contract §12): also for routes of no dialect, and for error frames. */
export function errorBody(error: GatewayError): string {
  const { param, reason, phase, provider, upstreamStatus, shownCode } = error.detail
  return JSON.stringify({
    error: {
      message: error.message,
      type: error.row.openai,
      param: param ?? null,
      code: shownCode ?? error.code,
      ...(reason !== undefined && { reason }),
      ...(phase !== undefined && { phase }),
      ...(provider !== undefined && { provider }),
      ...(upstreamStatus !== undefined && { upstream_status: upstreamStatus })
    }
  })
}
