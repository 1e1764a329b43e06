import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { WaitingTurn } from '../stores/contracts.ts'
import { sessionIdOf } from './session-id.ts'
import { sessionKey } from './session-key.ts'
import type { HeldCalls } from './tool-calls-services.ts'
import type { TurnServices } from './turn-services.ts'
import { isOwn } from './turn-waiting.ts'

interface Named {
  readonly turnId: string | undefined
  readonly sessionId: string | undefined
}

/** The waiting turn that a request names. Throws `not_found`, or `call_not_open` where it waits no longer. */
export async function findWaiting(
  { stores, config }: Pick<TurnServices, 'stores' | 'config'>,
  principal: Principal,
  { turnId, sessionId }: Named
): Promise<WaitingTurn> {
  const { scope } = config.session
  const key = sessionId === undefined ? undefined : sessionKey(principal, sessionIdOf(sessionId), scope)
  if (turnId === undefined) {
    const turn = key === undefined ? undefined : (await stores.calls.waiting(key)).at(-1)
    if (turn) return turn
    const isThere = key !== undefined && (await stores.sessions.get(key)) !== undefined
    throw isThere ? notOpen(`The session ${sessionId} waits for no calls.`) : notFound(`session ${sessionId}`)
  }
  const turn = await stores.calls.ofTurn(turnId)
  const isMeant = turn && isOwn(turn, principal, scope) && (key === undefined || turn.session.id === sessionId)
  if (isMeant) return turn
  const row = turn ? undefined : await stores.turns.get(turnId)
  const isTheirs = row?.tenant === principal.tenant && row.keyId === principal.key
  throw isTheirs ? notOpen(`The turn ${turnId} waits for no calls.`) : notFound(`turn ${turnId}`)
}

/** The calls that a request names, or all that are open. Throws `not_found` or `call_not_open`. */
export function openCallsOf(turn: WaitingTurn, ids: readonly string[] | undefined): HeldCalls {
  const batch = turn.held
  if (batch === undefined) throw notOpen(`The turn ${turn.id} waits for its client's own results.`)
  const unknown = ids?.find(id => !batch.calls.some(({ callId }) => callId === id))
  if (unknown !== undefined) throw notFound(`call ${unknown} in the turn ${turn.id}`)
  const asked = batch.calls.filter(({ callId }) => ids?.includes(callId) ?? true)
  const open = asked.filter(({ state, runner }) => state === 'requested' && runner !== 'client')
  const closed = asked.find(call => !open.includes(call))
  if (ids !== undefined && closed) throw notOpen(`The call ${closed.callId} is not open, or is your own to run.`)
  if (open.length === 0) throw notOpen(`The turn ${turn.id} has no call that is open.`)
  return { turn, batch, calls: open }
}

function notFound(what: string): GatewayError {
  return new GatewayError('not_found', `There is no ${what}.`)
}

function notOpen(sentence: string): GatewayError {
  return new GatewayError('call_not_open', sentence)
}
