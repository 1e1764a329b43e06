import type { KeyObject } from 'node:crypto'
import type { ToolCall } from '../core/chat.ts'
import type { Turn } from '../core/turn.ts'
import { signature } from '../egress/signing.ts'
import { traceparent } from '../egress/traceparent.ts'
import type { ToolDefinition } from './definition.ts'

/** One sending of a call. */
export interface Sending {
  readonly definition: ToolDefinition
  readonly version: number
  /** Its arguments are canonical JSON. */
  readonly call: ToolCall
  readonly turn: Turn
  /** The same over all attempts. */
  readonly webhookId: string
  /** Position in its batch, from 0. */
  readonly index: number
  /** From 1. */
  readonly attempt: number
  /** Milliseconds since the epoch. */
  readonly deadline: number
  /** The newest first. */
  readonly keys: readonly KeyObject[]
  /** Name and value of the header that carries the credential. */
  readonly credential?: readonly [string, string] | undefined
  /** What the endpoint knows the session by. */
  readonly sessionPseudonym: string
}

export interface WebhookRequest {
  readonly body: string
  /** Names and values in turn, as undici takes them. */
  readonly headers: string[]
}

const ACCEPT = 'application/vnd.loopgate.tool-result+json, application/json, text/plain'

/** The signed request of a call (contract §6.3). */
export function webhookRequest(sending: Sending): WebhookRequest {
  const { definition, turn, webhookId, keys, credential, deadline } = sending
  const now = Date.now()
  const body = definition.endpoint.payload === 'args' ? sending.call.arguments : envelope(sending, now)
  const timestamp = Math.floor(now / 1000)
  const headers = [
    ...['content-type', 'application/json', 'accept', ACCEPT, 'accept-encoding', 'identity'],
    ...['webhook-id', webhookId, 'webhook-timestamp', String(timestamp)],
    ...['webhook-signature', signature({ id: webhookId, timestamp, body }, keys), 'idempotency-key', webhookId],
    ...['prefer', `wait=${Math.max(1, Math.ceil((deadline - now) / 1000))}`],
    ...['traceparent', traceparent(turn)],
    ...['x-gateway-hops', String(turn.request.hops + 1)]
  ]
  for (const [name, value] of Object.entries(definition.endpoint.headers)) headers.push(name, value)
  if (definition.endpoint.payload === 'args') headers.push(...metadata(sending))
  if (credential !== undefined) headers.push(...credential)
  return { body, headers }
}

/** Put together as text: the arguments stay exactly as they were validated. */
function envelope(sending: Sending, now: number): string {
  const { definition, version, call, turn, webhookId, index, attempt, deadline, sessionPseudonym } = sending
  const text = JSON.stringify
  return (
    `{"type":"tool.call","timestamp":"${isoOf(now)}","version":"1","data":{"call":{"id":"${webhookId}"` +
    `,"tool":${text(definition.name)},"tool_version":${version},"arguments":${call.arguments}` +
    `,"provider_call_id":${text(call.id)},"iteration":${turn.round},"index":${index},"attempt":${attempt}` +
    `,"deadline":"${isoOf(deadline)}"},"session":{"id":"${sessionPseudonym}"},"request":{"id":${text(turn.request.id)}}` +
    `,"tenant":{"id":${text(turn.principal.tenant)}},"user":{"id":null},"context":${contextOf(sending)}` +
    ',"approval":null,"reply":null}}'
  )
}

/** What the envelope says beside the arguments, for endpoints that get nothing but these. */
function metadata(sending: Sending): string[] {
  const { definition, version, call, turn, index, attempt, deadline, sessionPseudonym } = sending
  const context = contextOf(sending)
  return [
    ...['x-loopgate-tool', definition.name, 'x-loopgate-tool-version', String(version)],
    ...['x-loopgate-iteration', String(turn.round), 'x-loopgate-index', String(index)],
    ...['x-loopgate-attempt', String(attempt), 'x-loopgate-deadline', isoOf(deadline)],
    ...['x-loopgate-session-id', sessionPseudonym, 'x-loopgate-request-id', turn.request.id],
    ...['x-loopgate-tenant-id', inHeader(turn.principal.tenant), 'x-loopgate-provider-call-id', inHeader(call.id)],
    ...(context === '{}' ? [] : ['x-loopgate-context', inHeader(context)])
  ]
}

function contextOf({ definition, turn }: Sending): string {
  const { context } = turn.request
  const allowed = definition.context.allow.filter(key => Object.hasOwn(context, key))
  return JSON.stringify(Object.fromEntries(allowed.map(key => [key, context[key]])))
}

/** Others' text as a header value: JSON escapes for all that is not printable ASCII. */
function inHeader(text: string): string {
  return text.replace(/[^\x20-\x7E]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function isoOf(time: number): string {
  return new Date(time).toISOString()
}
