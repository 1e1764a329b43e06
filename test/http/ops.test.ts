import Fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { describeApi } from '../../src/http/describe-api.ts'
import { measureRequests } from '../../src/http/measure-requests.ts'
import { ops } from '../../src/http/ops.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'

/** A listening app with nothing but these routes; what it stands on can be broken. */
async function aGateway(t: Test) {
  const state = { draining: false, store: true }
  const metrics = createMetrics()
  const app = Fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  const openapi = await describeApi(app, { version: '9.8.7' })
  app.register(measureRequests, { metrics })
  app.register(ops, {
    stores: { ping: async () => (state.store ? undefined : Promise.reject(new Error('disk gone'))) },
    metrics,
    metricsAuth: 'none',
    draining: () => state.draining,
    openapi
  })
  const entered = Promise.withResolvers<void>()
  app.get('/slow/:id', async () => {
    entered.resolve()
    await new Promise(resolve => setTimeout(resolve, 60_000).unref())
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as { port: number }
  return { state, metrics, entered: entered.promise, url: `http://127.0.0.1:${port}` }
}

t.test('alive is the process; ready is also the store, and not stopping', async t => {
  const { state, url } = await aGateway(t)
  const get = async (path: string) => {
    const response = await fetch(url + path)
    return [response.status, await response.json()]
  }
  t.strictSame(await get('/healthz'), [200, { alive: true }])
  t.strictSame(await get('/readyz'), [200, { ready: true }])
  state.store = false
  t.strictSame(await get('/readyz'), [503, { ready: false, reasons: ['store_unavailable'] }])
  state.draining = true
  t.strictSame(await get('/readyz'), [503, { ready: false, reasons: ['draining', 'store_unavailable'] }])
  t.strictSame(await get('/healthz'), [200, { alive: true }])
})

t.test('requests are counted by route template, also the unknown and those whose client left', async t => {
  const { url, entered, metrics } = await aGateway(t)
  await fetch(`${url}/healthz`)
  await fetch(`${url}/wp-admin.php?x=1`)
  const leaving = new AbortController()
  const left = fetch(`${url}/slow/17`, { signal: leaving.signal }).catch(() => {})
  await entered
  leaving.abort()
  await left
  while (!(await metrics.render()).includes('status="499"')) await new Promise(resolve => setTimeout(resolve, 5))

  const response = await fetch(`${url}/metrics`)
  t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const counts = (await response.text()).split('\n').filter(line => line.startsWith('loopgate_http_requests_total{'))
  t.strictSame(counts.sort(), [
    'loopgate_http_requests_total{route="/healthz",method="GET",status="200"} 1',
    'loopgate_http_requests_total{route="/slow/:id",method="GET",status="499"} 1',
    'loopgate_http_requests_total{route="unknown",method="GET",status="404"} 1'
  ])
})

t.test('the description has the routes, their errors, and the same text each time', async t => {
  const { url } = await aGateway(t)
  const [one, two] = await Promise.all([fetch(`${url}/openapi.yaml`), fetch(`${url}/openapi.yaml`)])
  const text = await one.text()
  t.equal(text, await two.text())
  const description = parse(text)
  t.match(description, { openapi: '3.1.0', info: { version: '9.8.7' } })
  t.match(description.paths['/readyz'].get.responses, { 200: {}, 503: {}, 400: {}, 404: {} })
  t.match(description.paths['/readyz'].get, { security: [] })
  t.notOk(description.paths['/readyz'].get.responses[401], 'no key, no 401')
  t.match(description.components.schemas.Error, { type: 'object', required: ['error'] })
})
