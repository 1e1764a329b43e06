/** What a turn did: its run view. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { TurnStore } from '../stores/contracts.ts'
import { errorAnswers } from './error-schema.ts'
import { maySee } from './may-see.ts'
import type { TurnsUnderWay } from './turns-under-way.ts'

export interface TurnsOptions {
  readonly turns: Pick<TurnStore, 'get'>
  readonly underWay: Pick<TurnsUnderWay, 'get'>
}

const runSchema = z
  .looseObject({
    id: z.string(),
    session_id: z.string(),
    key_id: z.string(),
    status: z.string(),
    rounds: z.array(z.looseObject({ n: z.int(), calls: z.array(z.looseObject({ code: z.string().nullable() })) }))
  })
  .meta({
    id: 'Run',
    description:
      'What a turn did: rounds, attempts, calls, usage. Holds no text but what the model gave for augmentation fields.'
  })

type RunView = z.output<typeof runSchema>
type CallView = RunView['rounds'][number]['calls'][number]

/**
 * `GET /v1/turns/{id}` (contract §2.6): a key sees its own, an auditor those of its tenant, an admin all. Any other is
 * `404 not_found`. A turn that runs in this process is shown as far as it has come.
 */
export async function turns(app: FastifyInstance, { turns, underWay }: TurnsOptions): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v1/turns/:id',
    {
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['sessions'], summary: 'What a turn did', params: z.object({ id: z.string() }) },
        response: { 200: runSchema, ...errorAnswers }
      }
    },
    async request => {
      const { id } = request.params
      const principal = request.getDecorator<Principal>('principal')
      const row = underWay.get(id) ?? (await turns.get(id))
      if (row === undefined || !maySee(principal, row)) throw new GatewayError('not_found', `There is no turn ${id}.`)
      const view = JSON.parse(row.view) as RunView
      return principal.roles.has('admin') ? view : forTenant(view)
    }
  )
}

/**
 * Tenants are not told that an address was refused, and not how long an unreachable tool took: either would let them
 * look around in the network behind (contract §2.6, §18 on §6.5).
 */
function forTenant(view: RunView): RunView {
  return { ...view, rounds: view.rounds.map(round => ({ ...round, calls: round.calls.map(hidden) })) }
}

function hidden(call: CallView): CallView {
  if (call.code !== 'egress_blocked' && call.code !== 'tool_unreachable') return call
  return { ...call, code: 'tool_unreachable', duration_ms: null }
}
