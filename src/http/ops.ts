/** What operators and their machines ask: is it alive, is it ready, what are the numbers, what is the API. */
import type { FastifyPluginCallback } from 'fastify'
import { z } from 'zod'
import type { Stores } from '../stores/contracts.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AuthLevel } from './auth.ts'

export interface OpsOptions {
  readonly stores: Pick<Stores, 'ping'>
  /** Absent: `/metrics` is not served. */
  readonly metrics?: Pick<Metrics, 'render' | 'contentType'> | undefined
  /** `none` while only loopback is listened to, or where the configuration opens it. */
  readonly metricsAuth: 'none' | 'role:metrics'
  /** True once the gateway has been told to stop. */
  readonly draining: () => boolean
  /** `openapi.yaml`, as text. */
  readonly openapi: () => string
}

const alive = z.object({ alive: z.literal(true) }).meta({ id: 'Alive' })
const ready = z.object({ ready: z.literal(true) }).meta({ id: 'Ready' })
const unready = z.object({ ready: z.literal(false), reasons: z.array(z.string()) }).meta({ id: 'Unready' })
const text = (type: string, description: string) => ({ description, content: { [type]: { schema: z.string() } } })

/**
 * `GET /healthz`, `/readyz`, `/metrics`, `/openapi.yaml`. Ready = the store answers and the gateway is not stopping; a
 * provider or a tool that is down does not make it unready (contract §2.2).
 */
export const ops: FastifyPluginCallback<OpsOptions> = (app, options, done) => {
  const { stores, metrics, metricsAuth, draining, openapi } = options
  const open = { config: { auth: 'none' satisfies AuthLevel } }
  const described = (summary: string, response: object) => ({ schema: { summary, response } })

  app.get('/healthz', { ...open, ...described('Is the process alive?', { 200: alive }) }, async () => ({ alive: true }))

  app.get(
    '/readyz',
    { ...open, ...described('May it be sent requests?', { 200: ready, 503: unready }) },
    async (_request, reply) => {
      const reasons: string[] = []
      if (draining()) reasons.push('draining')
      await stores.ping().catch(() => reasons.push('store_unavailable'))
      if (reasons.length === 0) return { ready: true }
      return reply.code(503).send({ ready: false, reasons })
    }
  )

  if (metrics) {
    const page = described('Metrics for Prometheus', { 200: text('text/plain', 'Version 0.0.4 of the text format.') })
    app.get('/metrics', { config: { auth: metricsAuth }, ...page }, async (_request, reply) =>
      reply.type(metrics.contentType).send(await metrics.render())
    )
  }

  app.get(
    '/openapi.yaml',
    { ...open, ...described('This description', { 200: text('application/yaml', 'OpenAPI 3.1.') }) },
    async (_request, reply) => reply.type('application/yaml').send(openapi())
  )
  done()
}
