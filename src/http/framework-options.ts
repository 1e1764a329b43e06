import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import { errorBody } from '../dialects/openai-chat/errors.ts'
import { errorHandler } from './error-handler.ts'

/** Characters of one segment of a path: what is no name of ours is the routes' to refuse, not the router's. */
const MAX_SEGMENT = 4096

/** Options of the Fastify instance by which requests that no route sees are answered like all others (contract §2.1). */
export const frameworkOptions = {
  routerOptions: { maxParamLength: MAX_SEGMENT },
  frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    // No hook runs for these.
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    errorHandler(error, request, reply)
  },
  clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    // Half an answer may be on its way already; nothing can be added to it.
    if (socket.writable && !isAnswering(socket)) socket.write(rawAnswer(unreadable(error.code)))
    socket.destroySoon()
  }
}

function isAnswering(socket: Socket): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent: boolean } | null }
  return response?.headersSent === true
}

function unreadable(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayError('request_too_large', 'The headers are too large; send fewer or shorter ones.', {
      status: 431
    })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('invalid_request', 'The request did not arrive in time; send it again.', { status: 408 })
  }
  return new GatewayError('invalid_request', 'This is not a request of HTTP/1.1 that can be read.')
}

function rawAnswer(error: GatewayError): string {
  const body = errorBody(error)
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: req_${ulid()}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body
  ].join('\r\n')
}
