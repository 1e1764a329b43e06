import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../core/errors.ts'
import { isDeeperThan } from '../core/json-depth.ts'

/** Levels of arrays and objects in each other. What checks and writes a body walks it by recursion. */
const MAX_DEPTH = 200

/**
 * Bodies are JSON of at most 200 levels, without keys that reach for a prototype; each refusal says what is wrong.
 * A route that declares no body takes an empty one, for many clients name a media type on every request.
 */
export function jsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(['application/json', 'text/plain'])
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body as string
    // Where there is no route, that is what has to be said.
    if (request.is404) return done(null, undefined)
    if (text === '' && request.routeOptions.schema?.body === undefined) return done(null, undefined)
    if (text === '') return done(invalid('The body is empty; it must be JSON.'))
    if (isDeeperThan(text, MAX_DEPTH)) return done(invalid(`The body is nested deeper than ${MAX_DEPTH} levels.`))
    const value = mayReachForPrototype(text) ? undefined : parsed(text)
    if (value !== undefined) return done(null, value)
    return parse(request, text, (error, read) => (error ? done(unreadable(text)) : done(null, read)))
  })
}

/** Can one of its keys be a forbidden one, be it written with escapes? Nearly no body needs the parser that looks. */
function mayReachForPrototype(text: string): boolean {
  return text.includes('\\u') || text.includes('__proto__') || text.includes('"constructor"')
}

/** `undefined`: not JSON as it stands. The framework's parser may still take it: it knows byte order marks. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The parser tells both by one error. */
function unreadable(text: string): GatewayError {
  try {
    JSON.parse(text)
  } catch {
    return invalid('The body is not valid JSON.')
  }
  return invalid('The body has a key __proto__, or a constructor with a prototype; no key may have these names.')
}

function invalid(sentence: string): GatewayError {
  return new GatewayError('invalid_request', sentence)
}
