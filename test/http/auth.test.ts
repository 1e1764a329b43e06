import { request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyPluginCallback } from 'fastify'
import t, { type Test } from 'tap'
import { principals } from '../../src/access/principals.ts'
import { asGatewayError, type GatewayError } from '../../src/core/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { type AuthLevel, auth } from '../../src/http/auth.ts'

const ADMIN = 'admin-key-of-16-chars'
const CHAT = 'key-of-a-chat-client'
const TOOLS = 'key-of-a-tool-admin'
const any = { tenant: 'a', models: ['*'], tools: { allow: ['*'], deny: [] } }
const keys = [
  { id: 'chat', key: CHAT, roles: ['chat'], ...any },
  { id: 'tools', key: TOOLS, roles: ['chat', 'tool-admin'], ...any }
]

const routes: FastifyPluginCallback = (app, _options, done) => {
  const who = (request: { getDecorator<T>(name: string): T }) => ({
    key: request.getDecorator<Principal>('principal')?.key ?? null
  })
  app.get('/silent', who)
  for (const level of ['none', 'key', 'admin', 'role:tool-admin'] satisfies AuthLevel[]) {
    app.get(`/${level.replace(':', '-')}`, { config: { auth: level } }, who)
  }
  done()
}

async function gateway(t: Test, options: { mode?: 'auto' | 'none'; development?: boolean } = {}) {
  const { mode = 'auto', development = false } = options
  const app = fastify()
  app.setErrorHandler((error, _request, reply) => {
    const { status, code } = asGatewayError(error)
    return reply.code(status).send({ code })
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ code: 'not_found' }))
  app.register(auth, {
    principals: principals({
      mode,
      development,
      adminKey: development ? undefined : ADMIN,
      keys: development ? [] : keys
    }),
    development
  })
  app.register(routes)
  await app.listen({ port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return (path: string, headers: Record<string, string> = {}) => ask(port, path, headers)
}

/** A plain request: `fetch` sends no `Host` of ours. */
function ask(port: number, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = send({ port, path, headers, agent: false }, response => {
      let text = ''
      response.on('data', piece => {
        text += piece
      })
      response.on('end', () => {
        const { key, code } = JSON.parse(text) as { key?: string | null; code?: GatewayError['code'] }
        resolve(`${response.statusCode} ${key === undefined ? code : key}`)
      })
    })
    request.on('error', reject)
    request.end()
  })
}

t.test('a key is taken as Bearer, in any case, or as x-api-key', async t => {
  const get = await gateway(t)
  t.equal(await get('/key', { authorization: `Bearer ${CHAT}` }), '200 chat')
  t.equal(await get('/key', { authorization: `bearer  ${CHAT} ` }), '200 chat')
  t.equal(await get('/key', { 'x-api-key': TOOLS }), '200 tools')
  t.equal(await get('/key', { authorization: 'Bearer ', 'x-api-key': TOOLS }), '200 tools')
  t.equal(await get('/key', { authorization: `Bearer ${CHAT}x`, 'x-api-key': TOOLS }), '401 invalid_api_key')
  t.equal(await get('/key', { authorization: `Basic ${CHAT}` }), '401 invalid_api_key')
  t.equal(await get('/key'), '401 invalid_api_key')
})

t.test('a route is used only by who may; one that says nothing needs a key', async t => {
  const get = await gateway(t)
  const as = (key: string) => ({ 'x-api-key': key })
  t.equal(await get('/silent'), '401 invalid_api_key')
  t.equal(await get('/none'), '200 null')
  t.equal(await get('/none', as('wrong')), '200 null')
  t.equal(await get('/nowhere'), '404 not_found')
  t.equal(await get('/role-tool-admin', as(CHAT)), '403 role_required')
  t.equal(await get('/role-tool-admin', as(TOOLS)), '200 tools')
  t.equal(await get('/role-tool-admin', as(ADMIN)), '200 admin')
  t.equal(await get('/admin', as(TOOLS)), '403 role_required')
  t.equal(await get('/admin', as(ADMIN)), '200 admin')
})

t.test('mode none: chatting needs no key, administration does', async t => {
  const get = await gateway(t, { mode: 'none' })
  t.equal(await get('/key'), '200 anonymous')
  t.equal(await get('/role-tool-admin'), '401 invalid_api_key')
  t.equal(await get('/admin', { 'x-api-key': ADMIN }), '200 admin')
})

t.test('development mode serves this machine and no web page, on every route', async t => {
  const get = await gateway(t, { development: true })
  t.equal(await get('/admin', { host: 'localhost:1234', authorization: 'Bearer sk-any' }), '200 dev')
  t.equal(await get('/admin', { host: '127.0.0.1', origin: 'http://127.0.0.1' }), '200 dev')
  for (const path of ['/key', '/none', '/nowhere']) {
    t.equal(await get(path, { host: 'rebound.example' }), '403 origin_denied', path)
    t.equal(await get(path, { host: 'localhost', origin: 'http://localhost:3000' }), '403 origin_denied', path)
  }
})
