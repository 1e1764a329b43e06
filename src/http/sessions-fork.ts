/** A second conversation from a point of the first on. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { Principal } from '../core/principal.ts'
import type { SessionStore } from '../stores/contracts.ts'
import { errorAnswers } from './error-schema.ts'
import { sessionIdOf } from './session-id.ts'
import { sessionKey } from './session-key.ts'
import { sessionView } from './session-view.ts'
import { session as shownSession } from './sessions-schema.ts'

export interface SessionForkOptions {
  readonly sessions: Pick<SessionStore, 'get' | 'fork'>
  readonly config: Pick<Config, 'session'>
}

const body = z
  .strictObject({
    turn_id: z.string().optional().describe('The last turn that is taken along, of the session or a branch of it.'),
    session_id: z.string().optional().describe('Name of the new session; left out: a fresh one.')
  })
  .nullish()
  .meta({ id: 'SessionFork' })

/** `POST /v1/sessions/{id}/fork` (contract §2.2). Another key's session or turn is `404 not_found`. */
export async function sessionFork(app: FastifyInstance, { sessions, config }: SessionForkOptions): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v1/sessions/:id/fork',
    {
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['sessions'], summary: 'A new session with the history up to a turn' },
        description: 'A copy: either may be deleted. A turn that waits for its client stays in its own session.',
        ...{ params: z.object({ id: z.string() }), body, response: { 201: shownSession, ...errorAnswers } }
      }
    },
    async (request, reply) => {
      const principal = request.getDecorator<Principal>('principal')
      const { turn_id: turnId, session_id: name } = request.body ?? {}
      const id = name === undefined ? `sess_${ulid()}` : sessionIdOf(name)
      const keyOf = (name: string) => sessionKey(principal, name, config.session.scope)
      const to = { id, key: keyOf(id), named: true, branch: 'main' }
      const owner = ownerOf(principal)
      await sessions.fork(keyOf(request.params.id), to, owner, turnId)
      const info = await sessions.get(to.key)
      if (info === undefined) throw new GatewayError('not_found', `The session ${id} was deleted meanwhile.`)
      return reply
        .code(201)
        .header('x-session-id', id)
        .send({ ...sessionView(info), status: 'idle' })
    }
  )
}
