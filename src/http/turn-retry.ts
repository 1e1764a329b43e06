import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal, Session } from '../core/principal.ts'
import { unknownOutcome } from '../core/unknown-outcome.ts'
import type { JournalStore, JournalTurn, RetryRow } from '../stores/contracts.ts'
import type { LiveTurn, LiveTurns } from './live-turns.ts'
import { bodyHashOf, keyId, printId } from './retry-ids.ts'

/** What becomes of a request that may have come before. */
export type Retried =
  | {
      readonly kind: 'new'
      /** With an `Idempotency-Key`: its end is kept whether or not a tool runs. */
      readonly claim?: LiveTurn | undefined
      /** What it will be known by. Hashes are made when they are asked for. */
      readonly rows: () => readonly RetryRow[]
    }
  | { readonly kind: 'again'; readonly turn: JournalTurn; readonly outcome: string }
  | { readonly kind: 'goes_on'; readonly turn: JournalTurn; readonly live: LiveTurn; readonly isKeyed: boolean }

export interface RetryServices {
  readonly journal: Pick<JournalStore, 'retry' | 'get' | 'take'>
  readonly live: LiveTurns
  /** A call was sent, and its outcome will never be known. */
  readonly onUnknown: (call: { readonly turn: string; readonly tool: string }) => void
  readonly config: Pick<Config, 'session'>
}

interface Asked {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly principal: Principal
  readonly session: Session
}

const KEY_MS = 86_400_000
const CLOSING_MS = 10
const PRINT_MS = 600_000
const MAX_KEY_LENGTH = 255

/**
 * Has this request come before (contract §4.12)? By its `Idempotency-Key`; or, where an SDK says that it asks again, by
 * all that it says: then only if a tool ran. Waits for a turn that still runs. Throws `idempotency_mismatch` where the
 * key came with another body, `idempotency_in_progress` where the turn takes longer than a request may wait, and the
 * error of a turn that failed after a tool ran. Costs nothing where neither header is there.
 */
export function retried(services: RetryServices, asked: Asked): Retried | Promise<Retried> {
  const { request, principal, session } = asked
  const body = request.body as Fields
  const known = { route: request.routeOptions.url ?? '', body, principal, session }
  const key = keyOf(request.headers['idempotency-key'])
  const count = Number(request.headers['x-stainless-retry-count'] ?? 0)
  const rows = (): readonly RetryRow[] => {
    const bodyHash = bodyHashOf(known)
    const print = { id: printId(known), bodyHash, expiresAt: Date.now() + PRINT_MS }
    return key === undefined ? [print] : [{ id: keyId(known, key), bodyHash, expiresAt: Date.now() + KEY_MS }, print]
  }
  if (key === undefined && !(count > 0)) return { kind: 'new', rows }
  const id = key === undefined ? printId(known) : keyId(known, key)
  return found(services, asked, { id, isKeyed: key !== undefined, bodyHash: bodyHashOf(known), rows })
}

interface Known {
  readonly id: string
  readonly isKeyed: boolean
  readonly bodyHash: string
  readonly rows: () => readonly RetryRow[]
}

async function found(
  { journal, live, config, onUnknown }: RetryServices,
  asked: Asked,
  known: Known
): Promise<Retried> {
  const { id, isKeyed, bodyHash, rows } = known
  const fresh = (): Retried => ({ kind: 'new', rows, ...(isKeyed && { claim: live.enter(id, bodyHash) }) })
  const until = Date.now() + config.session.queue_ms
  for (;;) {
    const running = live.get(id)
    if (running) {
      if (running.bodyHash !== bodyHash) throw mismatch()
      await over(running, until - Date.now(), asked.reply)
      continue
    }
    const row = await journal.retry(id)
    if (live.get(id)) continue
    if (row === undefined) return fresh()
    if (row.bodyHash !== bodyHash) throw mismatch()
    const turn = await journal.get(row.turn)
    if (live.get(id)) continue
    if (turn && row.outcome !== undefined) return { kind: 'again', turn, outcome: row.outcome }
    if (turn?.state === 'running') {
      // Another request of its session ends it just now: what becomes of it is known in a moment.
      if (Date.now() > until) throw inProgress()
      await sleep(CLOSING_MS)
      continue
    }
    if (turn?.state === 'left') {
      // Claimed before the wait, so that no other retry takes it too.
      const claim = live.enter(id, bodyHash)
      const taken = await journal
        .take(row.turn, ({ callId, tool }) => {
          onUnknown({ turn: row.turn, tool })
          return unknownOutcome(callId, tool)
        })
        .catch(error => {
          claim.end()
          throw error
        })
      if (taken) return { kind: 'goes_on', turn: taken, live: claim, isKeyed }
      claim.end()
      continue
    }
    if (turn?.outcome === undefined) return fresh()
    // An SDK that has had the whole answer means to ask again.
    if (!isKeyed && turn.state === 'done' && turn.isDelivered) return fresh()
    return { kind: 'again', turn, outcome: turn.outcome }
  }
}

/** Waits for a turn that runs; `ms` at most, and not for a client that has gone. */
async function over(running: LiveTurn, ms: number, { raw }: FastifyReply): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const left = () => ended.reject(new GatewayError('client_closed', 'The client left before its turn was over.'))
  const late = () => ended.reject(inProgress())
  const timer = setTimeout(late, Math.max(0, ms)).unref()
  raw.once('close', left)
  running.over.then(ended.resolve)
  try {
    await ended.promise
  } finally {
    clearTimeout(timer)
    raw.off('close', left)
  }
}

function keyOf(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (typeof header === 'string' && header.length <= MAX_KEY_LENGTH) return header
  throw new GatewayError(
    'invalid_request',
    `The header idempotency-key may have at most ${MAX_KEY_LENGTH} characters.`,
    {
      param: 'idempotency-key'
    }
  )
}

function mismatch(): GatewayError {
  return new GatewayError(
    'idempotency_mismatch',
    'This Idempotency-Key was used with another body before; take a new one for another request.'
  )
}

function inProgress(): GatewayError {
  return new GatewayError(
    'idempotency_in_progress',
    'The turn of this request still runs; send the request again in a moment for its answer.',
    { retryAfterMs: 1000 }
  )
}
