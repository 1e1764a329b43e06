/** `POST /v1/chat/completions`: the OpenAI chat dialect over HTTP, call and stream by the same code. */
import { fastifySSE } from '@fastify/sse'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ulid } from '../core/ids.ts'
import type { ChatBody } from '../dialects/openai-chat/body.ts'
import { decode } from '../dialects/openai-chat/decode.ts'
import { type AnswerHead, encode } from '../dialects/openai-chat/encode.ts'
import { ChunkWriter } from '../dialects/openai-chat/stream.ts'
import { errorAnswers } from './error-schema.ts'
import type { LoopgateBody } from './loopgate-schema.ts'
import { chatAnswerSchema, chatEventSchema, chatRequestSchema } from './openai-chat-schema.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import { given } from './turn-given.ts'
import { prepareTurn } from './turn-prepare.ts'
import { forbidRetry, setNotes } from './turn-report.ts'
import { runTurn } from './turn-run.ts'
import type { TurnServices } from './turn-services.ts'
import { streamTurn } from './turn-stream.ts'

/** The plugin; its options are the services every dialect runs turns with. */
export async function openaiChat(app: FastifyInstance, services: TurnServices): Promise<void> {
  await app.register(fastifySSE, { heartbeatInterval: 0 })
  app.post(
    '/v1/chat/completions',
    {
      sse: 'manual',
      config: { auth: 'key' },
      schema: {
        summary: 'Answer a conversation; tools of the gateway are found and run on the way',
        body: chatRequestSchema,
        response: {
          200: {
            description: 'The answer; with stream: true as server-sent events.',
            content: {
              'application/json': { schema: chatAnswerSchema },
              'text/event-stream': { schema: chatEventSchema }
            }
          },
          ...errorAnswers
        }
      }
    },
    (request, reply) => answer(services, request, reply)
  )
}

async function answer(services: TurnServices, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const id = ulid()
  let messages = 0
  const asked = decode(request.body as ChatBody, () => `msg_${id}_${messages++}`)
  const prepared = await prepareTurn(
    services,
    { request, reply },
    { ...asked, dialect: 'openai', ulid: id, loopgate: asked.loopgate as LoopgateBody | undefined }
  )
  const head = headOf(prepared)
  if (asked.stream) {
    const encoder = new ChunkWriter(head, { includeUsage: asked.includeUsage })
    await streamTurn(services, prepared, { reply, encoder })
    return reply
  }
  return answerWhole(services, prepared, reply, head)
}

async function answerWhole(
  services: TurnServices,
  prepared: PreparedTurn,
  reply: FastifyReply,
  head: AnswerHead
): Promise<FastifyReply> {
  try {
    const answer = await runTurn(services, prepared)
    const { figures, report } = given(prepared, answer)
    setNotes(reply, prepared.record)
    return reply
      .headers(figures)
      .type('application/json; charset=utf-8')
      .send(encode(answer, head, report))
  } catch (error) {
    // Nobody is there to be told.
    if (prepared.clock.isClientGone()) return reply.hijack()
    forbidRetry(reply, prepared)
    throw error
  }
}

function headOf({ turn, answerId: id }: PreparedTurn): AnswerHead {
  return { id: `chatcmpl-${id}`, created: Math.floor(turn.startedAt / 1000), model: turn.prompt.model }
}
