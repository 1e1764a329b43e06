/** Frames of a turn's stream, for a client that lost its connection. */
import { fastifySSE } from '@fastify/sse'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { TurnStore } from '../stores/contracts.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { errorAnswers } from './error-schema.ts'
import { maySee } from './may-see.ts'
import { SseWriter } from './sse-writer.ts'
import type { StreamLog } from './stream-log.ts'
import type { StreamLogs } from './stream-logs.ts'
import type { TurnsUnderWay } from './turns-under-way.ts'

export interface TurnFramesOptions {
  readonly streams: Pick<StreamLogs, 'get'>
  readonly turns: Pick<TurnStore, 'get'>
  readonly underWay: Pick<TurnsUnderWay, 'get' | 'attend'>
  readonly metrics: Pick<Metrics, 'streamBuffered'>
  readonly config: Pick<Config, 'stream'>
}

/**
 * `GET /v1/turns/{id}/events` (contract §3.5): the stream of a resumable turn from `Last-Event-ID` on, or from its
 * start. It follows the turn while that runs, and keeps it running. `404` for a turn that the key may not see, `410`
 * for frames that are not kept, or not any more.
 */
export async function turnFrames(app: FastifyInstance, options: TurnFramesOptions): Promise<void> {
  const { streams, turns, underWay } = options
  await app.register(fastifySSE, { heartbeatInterval: 0 })

  async function find(principal: Principal, id: string): Promise<StreamLog> {
    const log = streams.get(id)
    const turn = log?.owner ?? underWay.get(id) ?? (await turns.get(id))
    if (turn === undefined || !maySee(principal, turn)) throw new GatewayError('not_found', `There is no turn ${id}.`)
    if (log) return log
    throw new GatewayError('gone', `The frames of ${id} are not kept (any more): ask for stream with resumable: true.`)
  }

  app.withTypeProvider<ZodTypeProvider>().get(
    '/v1/turns/:id/events',
    {
      sse: 'manual',
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['sessions'], summary: 'The rest of a stream that was broken off' },
        params: z.object({ id: z.string() }),
        headers: z.looseObject({
          'last-event-id': z.string().optional().describe('Id of the last frame that came; without it: from the start.')
        }),
        response: {
          200: { description: 'The frames.', content: { 'text/event-stream': { schema: z.string() } } },
          ...errorAnswers
        }
      }
    },
    async (request, reply) => {
      const { id } = request.params
      const log = await find(request.getDecorator<Principal>('principal'), id)
      const after = afterOf(request.headers['last-event-id'], log)
      if (log.after(after) === 'dropped')
        throw new GatewayError('gone', `The frames after ${after} are not kept any more.`)
      await follow(log, after, reply, options)
      return reply
    }
  )
}

function afterOf(lastEventId: string | undefined, { owner, start, last }: StreamLog): number {
  if (lastEventId === undefined) return start
  const [, turnId, number] = /^(.+):(\d{1,9})$/.exec(lastEventId) ?? []
  const after = Number(number)
  if (turnId === owner.turnId && after <= last) return after
  throw new GatewayError(
    'invalid_request',
    `Last-Event-ID must be the id of a frame of this turn: ${owner.turnId}:<n>.`,
    {
      param: 'Last-Event-ID'
    }
  )
}

/** Sends what there is and what comes, as fast as the client reads, until the end of the stream or of the connection. */
async function follow(
  log: StreamLog,
  after: number,
  reply: FastifyReply,
  { underWay, metrics, config }: TurnFramesOptions
): Promise<void> {
  const { raw } = reply
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  const leave = underWay.attend(log.owner.turnId)
  reply.header('cache-control', 'no-cache').header('x-loopgate-turn-id', log.owner.turnId).hijack()
  reply.sse.sendHeaders(200)
  const writer = new SseWriter(raw, {
    signal: gone.signal,
    keepaliveMs: config.stream.keepalive_ms,
    onBuffered: bytes => metrics.streamBuffered(bytes)
  })
  const closed = new Promise<void>(resolve => gone.signal.addEventListener('abort', () => resolve()))
  try {
    for (let at = after; !raw.destroyed; ) {
      const part = log.after(at)
      // It reads slower than frames come, and the next are gone: it will be told when it comes back.
      if (part === 'dropped') return void raw.destroy()
      at = part.last
      if (part.isOver) return writer.end(part.frames)
      if (part.frames !== '') await writer.write(part.frames)
      else await Promise.race([log.changed(), closed])
    }
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    leave()
  }
}
