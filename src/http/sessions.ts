/** What is remembered of conversations: to look at, to export, to delete. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import type { Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { ToolFinder } from '../core/finder.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { MemoryPolicy } from '../core/policy.ts'
import type { Principal } from '../core/principal.ts'
import { encodeMessage } from '../dialects/openai-chat/message.ts'
import type { CallStore, SessionInfo, SessionStore, TranscriptMessage, TurnStore } from '../stores/contracts.ts'
import { endRun } from './end-run.ts'
import { errorAnswers } from './error-schema.ts'
import { type PolicyConfig, policyOf } from './policy.ts'
import { sessionKey } from './session-key.ts'
import { sessionView } from './session-view.ts'
import { sessionFork } from './sessions-fork.ts'
import { session as shownSession, sessions as shownSessions, transcript } from './sessions-schema.ts'
import { NO_OPTIONS } from './turn-options.ts'

export interface SessionsOptions {
  readonly sessions: SessionStore
  readonly calls: Pick<CallStore, 'waiting'>
  readonly turns: Pick<TurnStore, 'get' | 'save'>
  readonly finder: Pick<ToolFinder, 'evict'>
  readonly config: PolicyConfig & Pick<Config, 'session'>
  /** What the session's next turn would recall by this policy. */
  readonly recall: (sessionKey: string, policy: MemoryPolicy) => Promise<readonly Message[]>
}

const EXPORTED_AT_ONCE = 200

const page = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(256).optional()
})
const params = z.object({ id: z.string() })
const ofBranch = z.object({
  branch: z.string().default('main').describe('One of its branches; main: the session itself.')
})
const key = { config: { auth: 'key' } }
const gone = z.null().describe('Done.')

/**
 * `GET /v1/sessions`, `GET` and `DELETE /v1/sessions/{id}`, `GET …/messages`, `POST …/fork` and `…/evict` (contract
 * §2.2). A session that was never used, or is another key's, is `404 not_found`.
 */
export async function sessions(app: FastifyInstance, options: SessionsOptions): Promise<void> {
  const { sessions, calls, turns, finder, config, recall } = options
  const typed = app.withTypeProvider<ZodTypeProvider>()
  const keyOf = (request: FastifyRequest, id: string, branch?: string) =>
    sessionKey(principalOf(request), id, config.session.scope, branch)
  const { memory } = policyOf(config, NO_OPTIONS, { isNamed: true, tools: new Map() })

  async function found(
    request: FastifyRequest,
    id: string,
    branch?: string
  ): Promise<{ key: string; info: SessionInfo }> {
    const key = keyOf(request, id, branch)
    const info = await sessions.get(key)
    if (info) return { key, info }
    throw notFound(id, branch)
  }

  /** Frees the views of the session and its branches; `false` when there was none. */
  function evicted(request: FastifyRequest, id: string, info: SessionInfo | undefined): boolean {
    const names = ['main', ...(info?.branches ?? [])]
    return names.map(branch => finder.evict(keyOf(request, id, branch), 'api')).includes(true)
  }

  typed.get(
    '/v1/sessions',
    {
      ...key,
      schema: {
        ...{ tags: ['sessions'], summary: 'Sessions of the key, newest first', querystring: page },
        response: { 200: shownSessions, ...errorAnswers }
      }
    },
    async request => {
      const { data, nextCursor } = await sessions.list(ownerOf(principalOf(request)), pageOf(request.query))
      return { data: data.map(sessionView), next_cursor: nextCursor ?? null }
    }
  )

  typed.get(
    '/v1/sessions/:id',
    {
      ...key,
      schema: {
        ...{ tags: ['sessions'], summary: 'One session', params },
        querystring: ofBranch.extend({
          view: z.enum(['recall']).optional().describe('recall: with what the next turn would recall.')
        }),
        response: { 200: shownSession, ...errorAnswers }
      }
    },
    async request => {
      const { key, info } = await found(request, request.params.id, request.query.branch)
      const waiting = await sessions.turns(key, ['awaiting_client'], 1, 'ends')
      const one = {
        ...sessionView(info),
        status: waiting.length > 0 ? ('awaiting_client' as const) : ('idle' as const)
      }
      if (request.query.view !== 'recall') return one
      return { ...one, messages: (await recall(key, memory)).map(encodeMessage) }
    }
  )

  typed.delete(
    '/v1/sessions/:id',
    {
      ...key,
      schema: {
        ...{ tags: ['sessions'], summary: 'Delete texts, results, revealed tools and branches of a session', params },
        response: { 204: gone, ...errorAnswers }
      }
    },
    async (request, reply) => {
      const { id } = request.params
      const info = await sessions.get(keyOf(request, id))
      const branches = ['main', ...(info?.branches ?? [])]
      const waiting = await Promise.all(branches.map(branch => calls.waiting(keyOf(request, id, branch))))
      const isDeleted = await sessions.delete(keyOf(request, id))
      evicted(request, id, info)
      if (!isDeleted) throw notFound(id)
      for (const turn of waiting.flat()) await endRun(turns, turn.id, 'cancelled')
      return reply.code(204).send(null)
    }
  )

  typed.get(
    '/v1/sessions/:id/messages',
    {
      ...key,
      schema: {
        ...{ tags: ['sessions'], summary: 'The whole transcript, oldest first', params },
        querystring: page.extend(ofBranch.shape),
        description: 'With `accept: application/x-ndjson` all of it, from the cursor on, one message a line.',
        response: { 200: transcript, ...errorAnswers }
      }
    },
    async (request, reply) => {
      const { key } = await found(request, request.params.id, request.query.branch)
      if (request.headers.accept?.includes('application/x-ndjson')) {
        const lines = exported(sessions, key, request.query.cursor)
        // A reply that is a stream passes by the serializer of the schema.
        return reply.type('application/x-ndjson').send(Readable.from(lines) as never)
      }
      const { data, nextCursor } = await sessions.messages(key, pageOf(request.query))
      return { data: data.map(entry), next_cursor: nextCursor ?? null }
    }
  )

  await app.register(sessionFork, { sessions, config })

  typed.post(
    '/v1/sessions/:id/evict',
    {
      ...key,
      schema: {
        ...{ tags: ['sessions'], summary: "Free the session's tool-search view; found tools stay", params },
        response: { 204: gone, ...errorAnswers }
      }
    },
    async (request, reply) => {
      const { id } = request.params
      // A session can hold a view before anything of it was written.
      const info = await sessions.get(keyOf(request, id))
      if (!evicted(request, id, info) && info === undefined) throw notFound(id)
      return reply.code(204).send(null)
    }
  )
}

async function* exported(sessions: SessionStore, key: string, from: string | undefined): AsyncGenerator<string> {
  let cursor = from
  do {
    const { data, nextCursor } = await sessions.messages(key, pageOf({ limit: EXPORTED_AT_ONCE, cursor }))
    for (const each of data) yield `${JSON.stringify(entry(each))}\n`
    cursor = nextCursor
  } while (cursor !== undefined)
}

function pageOf({ limit, cursor }: { limit: number; cursor?: string | undefined }) {
  return cursor === undefined ? { limit } : { limit, cursor }
}

function entry({ turnId, status, createdAt, message }: TranscriptMessage) {
  return {
    id: message.id,
    turn_id: turnId,
    turn_status: status,
    created_at: new Date(createdAt).toISOString(),
    ...(message.origin && { origin: message.origin }),
    message: encodeMessage(message)
  }
}

function principalOf(request: FastifyRequest): Principal {
  return request.getDecorator<Principal>('principal')
}

function notFound(id: string, branch = 'main'): GatewayError {
  if (branch !== 'main') return new GatewayError('not_found', `There is no branch ${branch} of a session ${id}.`)
  return new GatewayError('not_found', `There is no session ${id}; GET /v1/sessions lists those of this key.`)
}
