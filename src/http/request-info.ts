import type { FastifyRequest } from 'fastify'
import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestInfo } from '../core/turn.ts'

/** Requests that came through this many gateways are refused: tools that call their own gateway go round in circles. */
const MAX_HOPS = 3

/** The HTTP request as tools are told of it. Throws `loop_detected`. */
export function requestInfo({ id, headers }: FastifyRequest, context: Fields): RequestInfo {
  const hops = Number.parseInt(String(headers['x-gateway-hops'] ?? '0'), 10) || 0
  if (hops > MAX_HOPS) {
    throw new GatewayError('loop_detected', 'The request came through this gateway too often; tools seem to call it.')
  }
  const { traceparent } = headers
  const isTraced =
    typeof traceparent === 'string' && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(traceparent)
  return { id, hops, context, ...(isTraced && { traceparent }) }
}
