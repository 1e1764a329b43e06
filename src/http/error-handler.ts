import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { errorBody } from '../dialects/openai-chat/errors.ts'
import { discardBody } from './discard-body.ts'
import { type Finding, invalidInput } from './invalid-input.ts'

/** Seconds after which to come back where the error does not say. */
const RETRY_AFTER_S = 1

/**
 * Any error of any route → status, headers and an OpenAI-shaped body (contract §12). What we did not expect is logged
 * with its cause and shown as `internal`.
 */
export function errorHandler(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply
): FastifyReply | Promise<FastifyReply> {
  const error = fromFastify(thrown)
  if (error.code === 'internal')
    request.log.error({ event: 'request.failed', request_id: request.id, err: error.cause ?? error }, error.message)
  if (error.code === 'request_too_large') return discardBody(request.raw).then(() => sendError(reply, error))
  return sendError(reply, error)
}

/** One error, one answer. A header `x-should-retry` that is set already stays: a tool has run. */
export function sendError(reply: FastifyReply, error: GatewayError): FastifyReply {
  setRetryHeaders(reply, error)
  return reply.code(error.status).type('application/json; charset=utf-8').send(errorBody(error))
}

function setRetryHeaders(reply: FastifyReply, { row, detail, code }: GatewayError): void {
  if (row.retry !== undefined && !reply.hasHeader('x-should-retry')) reply.header('x-should-retry', String(row.retry))
  const { retryAfterMs } = detail
  if (retryAfterMs !== undefined) {
    reply.header('retry-after', Math.ceil(retryAfterMs / 1000)).header('retry-after-ms', Math.ceil(retryAfterMs))
  } else if (row.retry === true && code !== 'upstream_rate_limited') {
    reply.header('retry-after', RETRY_AFTER_S)
  }
}

function fromFastify(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError || !(thrown instanceof Error)) return asGatewayError(thrown)
  const { code, statusCode = 500, validation, validationContext } = thrown as FastifyError
  if (validation) return invalidInput(validation as unknown as Finding[], validationContext ?? 'body')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new GatewayError('unsupported_media_type', 'The body must be JSON: send content-type: application/json.')
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new GatewayError('request_too_large', 'The body is larger than server.body_limit_bytes allows.')
  }
  if (code === 'FST_ERR_BAD_URL') {
    return new GatewayError('invalid_request', 'The path cannot be read: % must be followed by two hexadecimal digits.')
  }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return new GatewayError('not_found', 'There is no such path: a part of it is longer than any name.')
  }
  if (statusCode >= 400 && statusCode < 500) return new GatewayError('invalid_request', `${thrown.message}.`)
  return asGatewayError(thrown)
}
