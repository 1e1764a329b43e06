/** Runs calls of a turn that waits for its client, when the client asks for it. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Principal } from '../core/principal.ts'
import { encodeMessage } from '../dialects/openai-chat/message.ts'
import { errorAnswers } from './error-schema.ts'
import { sessionLease } from './session-lease.ts'
import { findWaiting, openCallsOf } from './tool-calls-asked.ts'
import { ranCalls } from './tool-calls-run.ts'
import type { ToolCallsOptions } from './tool-calls-services.ts'

const body = z
  .strictObject({
    turn_id: z.string().optional().describe('The turn that made the calls.'),
    session_id: z.string().optional().describe('Its session, in place of the turn.'),
    calls: z.array(z.string()).min(1).max(128).optional().describe('Ids of the calls to run; default: all open ones.')
  })
  .refine(({ turn_id, session_id }) => turn_id !== undefined || session_id !== undefined, {
    path: ['turn_id'],
    message: 'name the turn or the session'
  })
  .meta({ id: 'ToolCallsRequest' })

const ran = z
  .object({
    messages: z.array(z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.unknown() }))
  })
  .meta({ id: 'ToolCallsAnswer', description: 'What the calls came to, in their order, as messages to send back.' })

/**
 * `POST /v1/tool-calls` (contract §4.7): runs stored calls of a waiting turn, with all guards and limits, and keeps what
 * they came to; the request that goes on may leave the results out. A call that is not open is `409 call_not_open`;
 * one that is unknown, or another key's, `404 not_found`.
 */
export async function toolCalls(app: FastifyInstance, services: ToolCallsOptions): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v1/tool-calls',
    {
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['tools'], summary: 'Run calls that a turn has left to its client', body },
        response: { 200: ran, ...errorAnswers }
      }
    },
    async (request, reply) => {
      const principal = request.getDecorator<Principal>('principal')
      const asked = request.body
      const find = () => findWaiting(services, principal, { turnId: asked.turn_id, sessionId: asked.session_id })
      const { session } = await find()
      const release = await sessionLease(services.stores.leases, session.key, reply.raw, services.config.session)
      try {
        const held = openCallsOf(await find(), asked.calls)
        const messages = await ranCalls(services, { request, reply, principal }, held)
        return { messages: messages.map(encodeMessage) as z.output<typeof ran>['messages'] }
      } finally {
        release()
      }
    }
  )
}
