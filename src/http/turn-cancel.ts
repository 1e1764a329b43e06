/** Ends a turn before its time. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Stores, WaitingTurn } from '../stores/contracts.ts'
import { endRun } from './end-run.ts'
import { errorAnswers } from './error-schema.ts'
import { endWaiting } from './turn-end.ts'
import type { TurnsUnderWay } from './turns-under-way.ts'
import { waitingSession } from './waiting-session.ts'

export interface TurnCancelOptions {
  readonly stores: Pick<Stores, 'turns' | 'calls' | 'sessions'>
  readonly underWay: Pick<TurnsUnderWay, 'get' | 'endOne'>
  readonly config: Pick<Config, 'session'>
}

/**
 * `POST /v1/turns/{id}/cancel` (contract §2.2): a turn that runs ends with `turn_cancelled` for its own client, one that
 * waits is waited for no more. A key cancels its own, an admin any; `409 turn_ended` when it is over.
 */
export async function turnCancel(app: FastifyInstance, { stores, underWay, config }: TurnCancelOptions): Promise<void> {
  /** `false`: somebody else has gone on from it meanwhile. */
  async function cancelWaiting(waiting: WaitingTurn, principal: Principal): Promise<boolean> {
    const { scope } = config.session
    const session = waitingSession(waiting, { named: true, since: undefined, principal, scope })
    if (!(await endWaiting(stores, waiting, { session, principal }, { status: 'cancelled' }))) return false
    await endRun(stores.turns, waiting.id, 'cancelled')
    return true
  }

  app.withTypeProvider<ZodTypeProvider>().post(
    '/v1/turns/:id/cancel',
    {
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['sessions'], summary: 'Ends a turn before its time', params: z.object({ id: z.string() }) },
        response: {
          202: z.object({ id: z.string() }).describe('It ends; the run view says when it has.'),
          ...errorAnswers
        }
      }
    },
    async (request, reply) => {
      const { id } = request.params
      const principal = request.getDecorator<Principal>('principal')
      const row = underWay.get(id) ?? (await stores.turns.get(id))
      if (row === undefined || !isOwn(principal, row)) throw new GatewayError('not_found', `There is no turn ${id}.`)
      const isEnding = underWay.endOne(id, new GatewayError('turn_cancelled', 'The turn was cancelled.'))
      if (isEnding) return reply.code(202).send({ id })
      const waiting = await stores.calls.ofTurn(id)
      const owner = { ...principal, tenant: row.tenant, key: row.keyId }
      if (waiting && (await cancelWaiting(waiting, owner))) return reply.code(202).send({ id })
      throw new GatewayError('turn_ended', `The turn ${id} is over: there is nothing to cancel.`)
    }
  )
}

/** Reading is also for auditors; this is not. */
function isOwn({ tenant, key, roles }: Principal, row: { readonly tenant: string; readonly keyId: string }): boolean {
  return roles.has('admin') || (row.tenant === tenant && row.keyId === key)
}
