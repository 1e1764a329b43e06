/** Every request is somebody's: finds the key, sets `principal`, and lets a route be used only by who may. */
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import { isOwnHost } from '../access/own-host.ts'
import type { Principals } from '../access/principals.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'

/** `config.auth` of a route. A route that says nothing needs a key. */
export type AuthLevel = 'none' | 'key' | 'admin' | `role:${string}`

export interface AuthOptions {
  readonly principals: Principals
  /** Refuse strange hosts and origins on every route, unknown ones included. */
  readonly development: boolean
}

/**
 * Decorates requests with `principal` (read by `request.getDecorator<Principal>('principal')`; `undefined` at level
 * `none`). Register it before all routes. Throws `invalid_api_key`, `role_required`, `origin_denied`.
 */
const plugin: FastifyPluginCallback<AuthOptions> = (app, { principals, development }, done) => {
  app.decorateRequest('principal')
  app.addHook('onRequest', (request, _reply, next) => {
    if (development && !isOwnHost(request.headers.host, request.headers.origin)) return next(denied())
    const level = levelOf(request)
    if (level === 'none') return next()
    try {
      const principal = principals.of(keyOf(request))
      check(principal, level)
      request.setDecorator('principal', principal)
      next()
    } catch (error) {
      next(error as GatewayError)
    }
  })
  done()
}

// What `fastify-plugin` does: the hook holds for the routes of all plugins registered later, not only for its own.
export const auth = Object.assign(plugin, { [Symbol.for('skip-override')]: true })

function levelOf(request: FastifyRequest): AuthLevel {
  if (request.is404) return 'none'
  return (request.routeOptions.config as { auth?: AuthLevel }).auth ?? 'key'
}

function keyOf({ headers }: FastifyRequest): string | undefined {
  const { authorization } = headers
  if (
    authorization !== undefined &&
    authorization.length > 7 &&
    authorization.slice(0, 7).toLowerCase() === 'bearer '
  ) {
    const key = authorization.slice(7).trim()
    if (key !== '') return key
  }
  const key = headers['x-api-key']
  return typeof key === 'string' && key !== '' ? key : undefined
}

/** `admin` may do what any role may. */
function check(principal: Principal, level: AuthLevel): void {
  if (level === 'key') return
  const role = level === 'admin' ? 'admin' : level.slice('role:'.length)
  if (principal.roles.has(role) || principal.roles.has('admin')) return
  if (principal.key === 'anonymous') {
    throw new GatewayError('invalid_api_key', `This needs a key with role ${role}, also where chatting needs none.`)
  }
  throw new GatewayError('role_required', `This needs a key with role ${role}.`)
}

function denied(): GatewayError {
  const message =
    'A gateway in development mode serves only requests to localhost, 127.0.0.1 or [::1], and no other web page. ' +
    'Declare a key to serve others.'
  return new GatewayError('origin_denied', message)
}
