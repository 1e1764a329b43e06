import { GatewayError } from '../core/errors.ts'
import type { ToolDefinition } from './definition.ts'

/** What a registration may not set (contract §6.1), and what the gateway sets itself on every call (§6.3). */
const RESERVED = new Set([
  ...['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'cookie', 'idempotency-key', 'forwarded'],
  ...['x-gateway-hops', 'keep-alive', 'te', 'trailer', 'expect', 'content-type', 'content-encoding', 'accept'],
  ...['accept-encoding', 'prefer', 'traceparent']
])
const RESERVED_PREFIX = /^(?:proxy-|webhook-|x-forwarded-|x-loopgate-)/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const VALUE = /^[\t\x20-\x7E\x80-\xFF]{0,4096}$/

/** Throws `tool_rejected` for headers a registration may not set or that no HTTP message can carry. */
export function admitHeaders({ endpoint, auth }: ToolDefinition, secret: string | undefined): void {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(endpoint.headers)) {
    admitName(name, `endpoint.headers.${name}`)
    admitValue(value, `endpoint.headers.${name}`)
    if (names.has(name.toLowerCase())) throw rejected('header_invalid', 'endpoint.headers', `sets ${name} twice`)
    names.add(name.toLowerCase())
  }
  if (auth.type === 'header') admitName(auth.name, 'auth.name')
  if (secret !== undefined) admitValue(secret, 'auth.secret')
  const carrier = auth.type === 'bearer' ? 'authorization' : auth.type === 'header' ? auth.name.toLowerCase() : ''
  if (names.has(carrier)) throw rejected('header_invalid', 'endpoint.headers', `sets ${carrier}, which auth sets too`)
}

function admitName(name: string, param: string): void {
  if (!TOKEN.test(name)) throw rejected('header_invalid', param, 'must be the name of a header')
  const folded = name.toLowerCase()
  if (RESERVED.has(folded) || RESERVED_PREFIX.test(folded)) {
    throw rejected('header_reserved', param, 'is a header that only the gateway may set')
  }
}

function admitValue(value: string, param: string): void {
  if (!VALUE.test(value)) {
    throw rejected('header_invalid', param, 'must be at most 4,096 characters of Latin-1 without line breaks')
  }
}

function rejected(reason: string, param: string, what: string): GatewayError {
  return new GatewayError('tool_rejected', `${param} ${what}.`, { param, reason })
}
