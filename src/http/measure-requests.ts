import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../telemetry/metrics.ts'

export interface MeasureOptions {
  readonly metrics: Pick<Metrics, 'httpRequest'>
}

/**
 * Counts every request once, when its response is over. The raw `close` is what is waited for: Fastify's `onResponse`
 * does not come when a client leaves (fastify#6208), and such a request counts as status 499.
 */
const plugin: FastifyPluginCallback<MeasureOptions> = (app, { metrics }, done) => {
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, next: () => void) => {
    const startedAt = performance.now()
    const { raw } = reply
    raw.once('close', () => {
      const status = raw.writableFinished ? raw.statusCode : 499
      // A path that no route has is not a label: whoever scans for holes would write it.
      const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
      metrics.httpRequest(route, request.method, status, (performance.now() - startedAt) / 1000)
    })
    next()
  })
  done()
}

// What `fastify-plugin` does: the hook holds for the routes of all plugins registered later, not only for its own.
export const measureRequests = Object.assign(plugin, { [Symbol.for('skip-override')]: true })
