import type { Usage } from './chat.ts'
import { GatewayError } from './errors.ts'
import { addUsage } from './usage.ts'

/** The same error, with what else was used before it; it is paid for all the same. */
export function withSpent(error: unknown, usage: Usage | undefined): unknown {
  if (usage === undefined || !(error instanceof GatewayError)) return error
  const all = addUsage(usage, error.detail.usage)
  return new GatewayError(error.code, error.message, { ...error.detail, ...(all && { usage: all }) })
}
