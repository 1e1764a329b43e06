/** Runs tools that are HTTP endpoints of somebody else: signed, bounded, and told apart when they fail. */
import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ToolCall } from '../core/chat.ts'
import { placeOf } from '../core/conversation.ts'
import { randomText } from '../core/ids.ts'
import type { Run, ToolResult, Turn } from '../core/turn.ts'
import { type Exchange, exchange } from '../egress/exchange.ts'
import type { Egress } from '../egress/guarded-dispatchers.ts'
import type { ToolDefinition } from './definition.ts'
import { type SecretScan, spellingsOf } from './secret-scan.ts'
import { semaphore } from './semaphore.ts'
import { type WebhookRequest, webhookRequest } from './webhook-request.ts'
import { webhookResult } from './webhook-result.ts'

export interface WebhookRegistration {
  readonly definition: ToolDefinition
  readonly version: number
  /** Of the signing secrets that hold now, the newest first. */
  readonly keys: readonly KeyObject[]
  /** Name and value of the header that carries the credential. */
  readonly credential?: readonly [string, string] | undefined
  /** Its own secrets, for scrubbing. */
  readonly secrets: readonly string[]
}

export interface WebhookServices {
  readonly egress: Pick<Egress, 'dispatcher' | 'judgeUrl'>
  /** What endpoints know something of a tenant by, instead of its real id. */
  readonly pseudonym: (tenant: string, id: string) => string
  /** Finds registered secrets that a tenant's calls might carry away. */
  readonly leaks: (tenant: string) => SecretScan
  /** The guard refused where the tool's URL leads to. */
  readonly onBlocked: (tool: string, turn: Turn) => void
  /** The endpoint said that it is gone for good (410). */
  readonly onGone: () => void
}

const HOLD_MS = { min: 50, max: 500 }

/** What runs a registered webhook tool. Rejects only when the turn is aborted. */
export function webhook(registration: WebhookRegistration, services: WebhookServices): Run {
  const { definition } = registration
  const { endpoint, limits } = definition
  const places = semaphore(limits.concurrency)
  const url = new URL(endpoint.url)
  const target = { origin: url.origin, path: url.pathname + url.search }
  const reading = { definition, secrets: registration.secrets.flatMap(spellingsOf) }
  // The rules may have become stricter since the registration.
  const refused = services.egress.judgeUrl(endpoint.url, endpoint.egress_policy) !== undefined

  const attempt = async (request: WebhookRequest, turn: Turn, deadline: number): Promise<Exchange> => {
    if (refused) return { kind: 'refused' }
    const signal = endpoint.on_disconnect === 'abort' ? turn.signal : undefined
    const dispatcher = services.egress.dispatcher(endpoint.egress_policy)
    const maxBytes = endpoint.max_response_bytes
    return exchange({ dispatcher, ...target, ...request }, { deadline, signal, maxBytes })
  }

  const send = async (call: ToolCall, turn: Turn): Promise<ToolResult> => {
    const deadline = deadlineOf(definition, turn)
    const { key, root = key } = turn.session
    const sessionPseudonym = services.pseudonym(turn.principal.tenant, root)
    const sending = { ...registration, ...placed(call, turn), call, turn, deadline, sessionPseudonym }
    const first = webhookRequest({ ...sending, attempt: 1 })
    if (Buffer.byteLength(first.body) > endpoint.max_request_bytes) return tooLarge(definition)
    let attempts = 1
    let came = await attempt(first, turn, deadline)
    // Nothing was sent: whatever the tool does, it has not been done (contract §6.4).
    if (came.kind === 'unreachable' && Date.now() < deadline) {
      attempts = 2
      came = await attempt(webhookRequest({ ...sending, attempt: 2 }), turn, deadline)
    }
    if (came.kind === 'refused') {
      services.onBlocked(definition.name, turn)
      await hold(turn.signal)
    }
    if (came.kind === 'answer' && came.status === 410) services.onGone()
    return { ...webhookResult(came, reading), webhookId: sending.webhookId, attempts }
  }

  return async (call, turn) => {
    if (services.leaks(turn.principal.tenant)(call.arguments)) return refusedFor(definition, 'they contain a secret')
    const leave = await places.enter(turn.signal)
    const sending = send(call, turn).finally(leave)
    if (endpoint.on_disconnect === 'abort') return sending
    turn.journal?.late(call, turn, sending)
    return unlessAborted(sending, turn.signal)
  }
}

/** The id says where the call stands in its turn: the same place never has two, whoever asks again. */
function placed(call: ToolCall, turn: Turn): { readonly webhookId: string; readonly index: number } {
  const { round, index } = placeOf(call, turn)
  const turnUlid = turn.id.slice(turn.id.indexOf('_') + 1)
  if (index < 0) return { webhookId: `tc_${turnUlid}x${randomText(8)}`, index: 0 }
  return { webhookId: `tc_${turnUlid}r${round}i${index}`, index }
}

function deadlineOf({ endpoint }: ToolDefinition, turn: Turn): number {
  const own = Date.now() + endpoint.timeout_ms
  const { maxTurnMs } = turn.policy.limits
  return maxTurnMs < 0 ? own : Math.min(own, turn.startedAt + maxTurnMs)
}

function tooLarge(definition: ToolDefinition): ToolResult {
  return refusedFor(definition, `the request would be larger than ${definition.endpoint.max_request_bytes} bytes`)
}

/** The call does not leave the gateway. */
function refusedFor({ name }: ToolDefinition, why: string): ToolResult {
  const content = `The arguments of ${name} were not accepted: ${why}.`
  return { content, status: 'refused', code: 'tool_args_invalid' }
}

/** A refused address and one that does not answer shall not be told apart by time (contract §18, 6.5). */
async function hold(signal: AbortSignal): Promise<void> {
  const ms = HOLD_MS.min + Math.random() * (HOLD_MS.max - HOLD_MS.min)
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** The turn ends at once; what was begun goes on to its own end, unheard. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const left = (): void => reject(signal.reason)
  signal.addEventListener('abort', left, { once: true })
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', left)
  }
}
