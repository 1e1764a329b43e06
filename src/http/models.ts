import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { matchesGlob } from '../core/glob.ts'
import type { ListedModel, Models } from '../core/models.ts'
import type { Principal } from '../core/principal.ts'
import { errorAnswers } from './error-schema.ts'

export interface ModelsOptions {
  readonly models: Pick<Models, 'list'>
}

const modelSchema = z
  .looseObject({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })
  .meta({ id: 'Model' })

/** `GET /v1/models` and `GET /v1/models/{id}`: the models the key may use. */
export async function models(app: FastifyInstance, { models }: ModelsOptions): Promise<void> {
  const typed = app.withTypeProvider<ZodTypeProvider>()
  const mine = (principal: Principal) => models.list().filter(({ id }) => matchesGlob(id, principal.models))

  typed.get(
    '/v1/models',
    {
      config: { auth: 'key' },
      schema: {
        summary: 'Models the key may use',
        response: { 200: z.looseObject({ object: z.literal('list'), data: z.array(modelSchema) }), ...errorAnswers }
      }
    },
    async request => ({
      object: 'list' as const,
      data: mine(request.getDecorator<Principal>('principal')).map(encodeModel)
    })
  )
  typed.get(
    '/v1/models/:id',
    {
      config: { auth: 'key' },
      schema: {
        summary: 'One model',
        params: z.object({ id: z.string() }),
        response: { 200: modelSchema, ...errorAnswers }
      }
    },
    async request => {
      const { id } = request.params
      const found = mine(request.getDecorator<Principal>('principal')).find(model => model.id === id)
      if (found) return encodeModel(found)
      throw new GatewayError('model_not_found', `There is no model ${id}; GET /v1/models lists those there are.`, {
        param: 'id'
      })
    }
  )
}

function encodeModel({ id, created, ownedBy }: ListedModel) {
  return { id, object: 'model' as const, created, owned_by: ownedBy }
}
