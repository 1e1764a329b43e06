/**
 * Webhook tools to try the gateway with, served by the gateway itself. They are called like anybody's: over HTTP,
 * signed, and each request's signature is verified here with nothing of the gateway's own code.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { demoReads } from './demo/demo-reads.ts'
import { demoWrites } from './demo/demo-writes.ts'

export interface DemoToolsOptions {
  /** Signing secret of each tool; `demoSecrets()` makes them. */
  readonly secrets: ReadonlyMap<string, string>
}

const TOOLS = [...demoReads, ...demoWrites]
/** Older and newer requests are refused, as Standard Webhooks advises. */
const TOLERANCE_S = 300

/** Fresh secrets for one run of the process. */
export function demoSecrets(): ReadonlyMap<string, string> {
  return new Map(TOOLS.map(({ name }) => [name, `whsec_${randomBytes(32).toString('base64')}`]))
}

/** What `Catalog.declare` takes. `baseUrl` is where this process listens, e.g. `http://127.0.0.1:8080`. */
export function demoDefinitions(baseUrl: string, secrets: ReadonlyMap<string, string>): readonly object[] {
  return TOOLS.map(({ name, description, properties, required, annotations }) => ({
    ...{ name, description, annotations, signing: { secret: secrets.get(name) } },
    input_schema: { type: 'object', properties, required, additionalProperties: false },
    endpoint: { url: new URL(`/demo/tools/${name}`, baseUrl).href, egress_policy: 'demo' }
  }))
}

/** `POST /demo/tools/{name}`, open to nobody but who can sign. */
export async function demoTools(app: FastifyInstance, { secrets }: DemoToolsOptions): Promise<void> {
  // The signature is over the bytes.
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const tool of TOOLS) {
    const secret = secrets.get(tool.name)
    if (secret === undefined) continue
    app.post(`/demo/tools/${tool.name}`, { config: { auth: 'none' }, schema: { hide: true } }, (request, reply) => {
      const body = request.body as Buffer
      if (!isSigned(request, body, secret)) return send(reply, 401, errorOf('The signature does not fit.'))
      const { arguments: args } = JSON.parse(body.toString()).data.call
      const answer = tool.answer(args, new Date())
      return 'refused' in answer ? send(reply, 422, errorOf(answer.refused)) : send(reply, 200, answer.result)
    })
  }
}

function isSigned({ headers }: FastifyRequest, body: Buffer, secret: string): boolean {
  const id = String(headers['webhook-id'] ?? '')
  const timestamp = String(headers['webhook-timestamp'] ?? '')
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S)) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  return String(headers['webhook-signature'] ?? '')
    .split(' ')
    .some(each => {
      const given = Buffer.from(each.replace(/^v1,/, ''), 'base64')
      return each.startsWith('v1,') && given.length === expected.length && timingSafeEqual(given, expected)
    })
}

function send(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).type('application/json').send(JSON.stringify(value))
}

function errorOf(message: string): object {
  return { error: { message } }
}
