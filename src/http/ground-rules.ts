import type { FastifyInstance, RouteOptions } from 'fastify'
import { GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import { errorHandler, sendError } from './error-handler.ts'
import { jsonBodies } from './json-bodies.ts'

const REQUEST_ID = /^[\w.-]{1,128}$/

/**
 * What holds on every route (contract §2.1): a request id on each answer (the client's own, if it is of the form),
 * `cache-control: no-store`, bodies are JSON (415), errors in one shape, 404 and 405 with `allow`. To be called on
 * the root instance before any route is added.
 */
export function groundRules(app: FastifyInstance): void {
  const routes: { readonly path: RegExp; readonly method: string }[] = []
  jsonBodies(app)
  app.setGenReqId(({ headers }) => {
    const given = headers['x-request-id']
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${ulid()}`
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    done()
  })
  app.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const path = pattern(url)
    for (const each of [method].flat()) routes.push({ path, method: each })
  })
  app.setErrorHandler(errorHandler)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const allowed = [...new Set(routes.filter(route => route.path.test(path)).map(({ method }) => method))].sort()
    if (allowed.length === 0) {
      return sendError(reply, new GatewayError('not_found', `There is no ${request.method} ${path}.`.slice(0, 300)))
    }
    reply.header('allow', allowed.join(', '))
    const sentence = `${request.method} is not for this path; use ${allowed.join(', ')}.`
    return sendError(reply, new GatewayError('method_not_allowed', sentence))
  })
}

/** The template of a route as an expression: `:id` is one segment, `*` the rest. */
function pattern(template: string): RegExp {
  const source = template
    .split('/')
    .map(segment => {
      if (segment.startsWith(':')) return '[^/]+'
      return segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
    })
    .join('/')
  return new RegExp(`^${source}$`)
}
