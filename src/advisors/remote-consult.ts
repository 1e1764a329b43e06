import type { Usage } from '../core/chat.ts'
import type { ChatShapes } from '../core/chat-shapes.ts'
import { ulid } from '../core/ids.ts'
import { isDeeperThan } from '../core/json-depth.ts'
import type { Turn } from '../core/turn.ts'
import { type Exchange, exchange } from '../egress/exchange.ts'
import type { Egress } from '../egress/guarded-dispatchers.ts'
import { signature, signingKey } from '../egress/signing.ts'
import { traceparent } from '../egress/traceparent.ts'
import { RemoteFailure } from './remote-failure.ts'
import { type Question, type Verdict, verdictOf } from './remote-verdict.ts'

/** Asks a remote advisor. Rejects with `RemoteFailure`, or with the reason for which the turn was aborted. */
export type Consult = (question: Question, turn: Turn) => Promise<Verdict>

export interface RemoteEndpoint {
  readonly url: string
  /** `whsec_…` */
  readonly secret: string
  /** Of the whole exchange: connecting, sending, waiting, reading. */
  readonly timeoutMs: number
  readonly egressPolicy: string
}

export interface RemoteServices {
  readonly egress: Pick<Egress, 'dispatcher'>
  readonly shapes: ChatShapes
  readonly decodeUsage: (value: unknown) => Usage | undefined
}

/** Largest answer that is read. */
const MAX_BYTES = 1_048_576
const MAX_DEPTH = 200

/**
 * Asks over HTTP: one POST, signed as those to webhook tools are (contract §6.3), through the guarded egress, without
 * following redirects. Where no answer began to come it is sent once more, under the same `webhook-id`, within the
 * same time: a connection that was kept open may have been closed at that very moment.
 */
export function consultation(endpoint: RemoteEndpoint, services: RemoteServices): Consult {
  const { origin, pathname, search } = new URL(endpoint.url)
  const keys = [signingKey(endpoint.secret)]

  return async (question, turn) => {
    const deadline = Date.now() + endpoint.timeoutMs
    const id = `adv_${ulid()}`
    const body = bodyOf(question, turn, services.shapes)
    const send = (): Promise<Exchange> => {
      const timestamp = Math.floor(Date.now() / 1000)
      const headers = [
        ...['content-type', 'application/json', 'accept', 'application/json', 'accept-encoding', 'identity'],
        ...['webhook-id', id, 'webhook-timestamp', String(timestamp)],
        ...['webhook-signature', signature({ id, timestamp, body }, keys)],
        ...['traceparent', traceparent(turn), 'x-gateway-hops', String(turn.request.hops + 1)]
      ]
      const dispatcher = services.egress.dispatcher(endpoint.egressPolicy)
      return exchange(
        { dispatcher, origin, path: pathname + search, headers, body },
        { deadline, signal: turn.signal, maxBytes: MAX_BYTES }
      )
    }
    let came = await send()
    if ((came.kind === 'reset' || came.kind === 'unreachable') && Date.now() < deadline) came = await send()
    const value = answered(came)
    if (value === undefined) return { kind: 'go_on' }
    return verdictOf(value, { question, sent: () => sentIn(body), ...services })
  }
}

function bodyOf(question: Question, { id, round, prompt }: Turn, shapes: ChatShapes): string {
  const said =
    question.phase === 'request'
      ? { messages: question.messages.map(shapes.encodeMessage), usage: null }
      : {
          message: shapes.encodeMessage(question.message),
          usage: question.usage ? shapes.encodeUsage(question.usage) : null
        }
  const { usage, ...message } = said
  const data = { turn: id, round, ...message, tools: [...prompt.tools.keys()], usage }
  return JSON.stringify({ type: `advisor.${question.phase}`, data })
}

/** The messages as the other side read them. */
function sentIn(body: string): readonly unknown[] {
  return JSON.parse(body).data.messages ?? []
}

/** The JSON that came; `undefined` = 204, there is nothing to be done. */
function answered(came: Exchange): unknown {
  switch (came.kind) {
    case 'answer':
      if (came.status === 204) return undefined
      if (came.status !== 200) throw new RemoteFailure('status', came.status)
      if (came.cut) throw new RemoteFailure('too_large')
      return parsed(came.body)
    case 'refused':
      throw new RemoteFailure('egress_blocked')
    case 'timeout':
      throw new RemoteFailure('timeout')
    case 'malformed':
      throw new RemoteFailure('unreadable')
    default:
      throw new RemoteFailure('unreachable')
  }
}

function parsed(body: Buffer): unknown {
  let value: unknown
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    if (isDeeperThan(text, MAX_DEPTH)) throw new RemoteFailure('unreadable')
    value = JSON.parse(text, withoutPrototype)
  } catch {
    throw new RemoteFailure('unreadable')
  }
  return value
}

/** A key that would reach for a prototype where objects are copied is not there. */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
