import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { principals } from '../../src/access/principals.ts'
import { recallView } from '../../src/advisors/memory-recall.ts'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import type { Principal } from '../../src/core/principal.ts'
import { auth } from '../../src/http/auth.ts'
import { describeApi } from '../../src/http/describe-api.ts'
import { groundRules } from '../../src/http/ground-rules.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { sessions } from '../../src/http/sessions.ts'
import { turns } from '../../src/http/turns.ts'
import { TurnsUnderWay } from '../../src/http/turns-under-way.ts'
import type { StoredTurn, TurnRow } from '../../src/stores/contracts.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { toolFinder } from '../../src/tools/index/finder.ts'
import { toolbox } from '../helper/turn.ts'
import { aStoredTurn } from '../stores/contract.ts'

type Answer = Record<string, never> & { data: Record<string, never>[]; next_cursor: string | null }

const key = (id: string, tenant: string, roles: string[] = ['chat']) => ({
  ...{ id, key: `secret-of-${id}`, tenant, roles, models: ['*'] },
  tools: { allow: ['*'], deny: [] }
})

/** The routes over a real store, for two keys of one tenant, one of another, an auditor and an admin. */
async function aGateway(t: Test, changes: ConfigInput = {}) {
  const config = configSchema.parse({ version: 1, ...changes })
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  const evicted: string[] = []
  const finder = toolFinder({ kind: 'lexical', views: { max: 10 }, maxIndexes: 4, onEvict: why => evicted.push(why) })
  const app = fastify() as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  groundRules(app)
  const openapi = await describeApi(app, { version: '1' })
  const keys = [
    key('ann', 'a'),
    key('bob', 'a'),
    key('cat', 'c'),
    key('eve', 'a', ['auditor']),
    key('adm', 'x', ['admin'])
  ]
  await app.register(auth, { principals: principals({ mode: 'keys', development: false, keys }), development: false })
  await app.register(sessions, {
    ...{ sessions: stores.sessions, finder, config },
    recall: (key, policy) => recallView(stores.sessions, key, policy)
  })
  await app.register(turns, { turns: stores.turns, underWay: new TurnsUnderWay() })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    finder.close()
    await stores.close()
  })
  const fetchAs = (who: string, path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer secret-of-${who}`, ...init.headers } })
  const get = async (who: string, path: string) => {
    const response = await fetchAs(who, path)
    return { status: response.status, body: (await response.json()) as Answer }
  }
  const store = (id: string, turn: StoredTurn, who = 'ann') => {
    const session = { id, key: sessionKey(ofA(who), id), named: true, branch: 'main' }
    return stores.sessions.append(session, { tenant: 'a', keyId: who }, turn)
  }
  const fork = async (who: string, id: string, body?: object) => {
    const init = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetchAs(who, `/v1/sessions/${id}/fork`, { method: 'POST', ...init })
    return {
      status: response.status,
      body: (await response.json()) as Answer & { id: string },
      headers: response.headers
    }
  }
  return { stores, finder, evicted, openapi, fetchAs, get, store, fork }
}

const ofA = (who: string): Pick<Principal, 'tenant' | 'key'> => ({ tenant: 'a', key: who })
const reveals = { id: 's1', key: sessionKey(ofA('ann'), 's1'), named: true, branch: 'main' }

t.test('a session shows its figures, its revealed tools and what it waits for', async t => {
  const { stores, get, store } = await aGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  await stores.sessions.reveal(reveals, { tenant: 'a', keyId: 'ann' }, ['stock_level'])
  const idle = await get('ann', '/v1/sessions/s1')
  t.match(idle, { status: 200, body: { id: 's1', turns: 1, revealed: ['stock_level'], status: 'idle' } })
  t.match(idle.body.created_at, /^20\d\d-.*Z$/)
  t.notOk('messages' in idle.body)
  await store('s1', aStoredTurn('turn_2', { status: 'awaiting_client' }))
  t.match((await get('ann', '/v1/sessions/s1')).body, { status: 'awaiting_client', turns: 2 })
})

t.test('view=recall adds what the next turn would recall by the configuration, as OpenAI spells it', async t => {
  const { get, store } = await aGateway(t, { memory: { recall: 'all', window: { max_turns: 1 } } })
  await store('s1', aStoredTurn('turn_1'))
  await store('s1', aStoredTurn('turn_2'))
  await store('s1', aStoredTurn('turn_3', { status: 'failed' }))
  const { body } = await get('ann', '/v1/sessions/s1?view=recall')
  t.strictSame(body.messages, [
    { role: 'user', content: 'question of turn_2' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_turn_2',
          type: 'function',
          function: { name: 'stock_level', arguments: '{"n":12345678901234567890}' }
        }
      ]
    },
    { role: 'tool', tool_call_id: 'call_turn_2', content: '{"units":17}' },
    { role: 'assistant', content: 'answer of turn_2 – ✓' }
  ])
  t.match(await get('ann', '/v1/sessions/s1?view=all'), { status: 400 })
})

t.test('the transcript comes in pages, and as lines to keep', async t => {
  const { get, store, fetchAs } = await aGateway(t)
  for (let n = 0; n < 60; n++) await store('s1', aStoredTurn(`turn_${n}`, n === 1 ? { status: 'cancelled' } : {}))
  const first = await get('ann', '/v1/sessions/s1/messages?limit=5')
  t.match(first.body.data[4], {
    turn_id: 'turn_1',
    turn_status: 'cancelled',
    created_at: '2026-09-21T14:13:20.000Z',
    message: { role: 'user', content: 'question of turn_1' }
  })
  const second = await get('ann', `/v1/sessions/s1/messages?limit=200&cursor=${first.body.next_cursor}`)
  t.match(second.body.data[0], { message: { role: 'assistant', content: null } })
  t.match(await get('ann', '/v1/sessions/s1/messages?cursor=forged'), {
    status: 400,
    body: { error: { param: 'cursor' } }
  })
  t.match(await get('ann', '/v1/sessions/s1/messages?limit=201'), { status: 400 })

  const lines = await fetchAs('ann', '/v1/sessions/s1/messages', { headers: { accept: 'application/x-ndjson' } })
  t.equal(lines.headers.get('content-type'), 'application/x-ndjson')
  const entries = (await lines.text())
    .trimEnd()
    .split('\n')
    .map(each => JSON.parse(each))
  t.equal(entries.length, 240)
  t.strictSame(entries.slice(0, 5), first.body.data)
})

t.test('sessions of a key are listed, newest first', async t => {
  const { get, store } = await aGateway(t)
  for (const id of ['s1', 's2', 's3']) {
    await store(id, aStoredTurn(`turn_${id}`))
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  await store('s9', aStoredTurn('turn_9'), 'bob')
  const first = await get('ann', '/v1/sessions?limit=2')
  t.strictSame(
    first.body.data.map(({ id }) => id),
    ['s3', 's2']
  )
  const second = await get('ann', `/v1/sessions?limit=2&cursor=${first.body.next_cursor}`)
  t.match(second.body, { data: [{ id: 's1' }], next_cursor: null })
})

t.test('a session that is not there, or another key’s, is not found, on every route', async t => {
  const { get, store, fetchAs } = await aGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  for (const [who, id] of [
    ['ann', 'never'],
    ['bob', 's1'],
    ['cat', 's1'],
    ['adm', 's1']
  ] as const) {
    const path = `/v1/sessions/${id}`
    t.match(await get(who, path), { status: 404, body: { error: { code: 'not_found' } } }, `${who} ${id}`)
    t.match(await get(who, `${path}/messages`), { status: 404 })
    t.equal((await fetchAs(who, path, { method: 'DELETE' })).status, 404)
    t.equal((await fetchAs(who, `${path}/evict`, { method: 'POST' })).status, 404)
    t.equal((await fetchAs(who, `${path}/fork`, { method: 'POST' })).status, 404)
  }
  t.equal((await get('ann', '/v1/sessions/s1')).status, 200)
  t.match(await get('nobody', '/v1/sessions/s1'), { status: 401 })
})

t.test('scope tenant: the keys of a tenant share a session', async t => {
  const { stores, get } = await aGateway(t, { session: { scope: 'tenant' } })
  const shared = { ...reveals, key: sessionKey(ofA('ann'), 's1', 'tenant') }
  await stores.sessions.append(shared, { tenant: 'a', keyId: 'ann' }, aStoredTurn('turn_1'))
  t.equal((await get('bob', '/v1/sessions/s1')).status, 200)
  t.equal((await get('cat', '/v1/sessions/s1')).status, 404)
})

t.test('deleting takes everything, and the view', async t => {
  const { get, store, fetchAs, finder } = await aGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  finder.view(reveals.key, toolbox({ a: async () => ({ content: '', status: 'ok' }) }))
  const gone = await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })
  t.equal(gone.status, 204)
  t.equal((await get('ann', '/v1/sessions/s1')).status, 404)
  t.equal((await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })).status, 404)
  t.equal(finder.evict(reveals.key, 'api'), false)
})

t.test('evicting frees the view of a session, also of one that has nothing stored yet', async t => {
  const { store, fetchAs, finder, evicted } = await aGateway(t)
  const tools = toolbox({ a: async () => ({ content: '', status: 'ok' }) })
  const evict = async () => (await fetchAs('ann', '/v1/sessions/s1/evict', { method: 'POST' })).status
  t.equal(await evict(), 404)
  finder.view(reveals.key, tools)
  t.equal(await evict(), 204)
  t.strictSame(evicted, ['api'])
  await store('s1', aStoredTurn('turn_1'))
  t.equal(await evict(), 204, 'nothing to free is fine')
})

t.test('a fork is a new session with the history up to a turn', async t => {
  const { get, store, fork, fetchAs } = await aGateway(t)
  for (const n of [1, 2, 3]) await store('s1', aStoredTurn(`turn_${n}`))
  const early = await fork('ann', 's1', { turn_id: 'turn_2', session_id: 's2' })
  t.match(early, { status: 201, body: { id: 's2', turns: 2, revealed: [], branches: [], status: 'idle' } })
  t.equal(early.headers.get('x-session-id'), 's2')
  const whole = await fork('ann', 's1')
  t.match(whole, { status: 201, body: { id: /^sess_[0-9A-Z]{26}$/, turns: 3 } }, 'all of it, under a fresh name')
  t.equal(whole.headers.get('x-session-id'), whole.body.id)
  await store('s2', aStoredTurn('turn_4'))
  const recalled = async (id: string) =>
    (
      (await get('ann', `/v1/sessions/${id}?view=recall`)).body as unknown as { messages: { content: string }[] }
    ).messages
      .filter((_, at) => at % 2 === 0)
      .map(({ content }) => content)
  const of = (...ids: number[]) => ids.map(id => `question of turn_${id}`)
  t.strictSame(await recalled('s2'), of(1, 2, 4))
  t.strictSame(await recalled(whole.body.id), of(1, 2, 3))
  t.strictSame(await recalled('s1'), of(1, 2, 3))
  t.equal((await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })).status, 204)
  t.strictSame(await recalled('s2'), of(1, 2, 4), 'a fork outlives the other')
})

t.test('what a fork refuses: turns that are not there or wait, names that are taken or no names', async t => {
  const { get, store, fork } = await aGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  await store('s1', aStoredTurn('turn_2', { status: 'awaiting_client' }))
  await store('s2', aStoredTurn('turn_3'))
  await store('s1', aStoredTurn('turn_of_bob'), 'bob')
  const refused = (status: number, code: string, param?: string) => ({ status, body: { error: { code, param } } })
  t.match(await fork('ann', 's1', { turn_id: 'turn_3' }), refused(404, 'not_found', 'turn_id'))
  t.match(await fork('ann', 's1', { turn_id: 'turn_of_bob' }), refused(404, 'not_found', 'turn_id'))
  t.match(await fork('ann', 's1', { turn_id: 'turn_2' }), refused(400, 'invalid_request', 'turn_id'))
  t.match(await fork('ann', 's1', { session_id: 's2' }), refused(400, 'invalid_request', 'session_id'))
  t.match(await fork('ann', 's1', { session_id: 's1' }), refused(400, 'invalid_request', 'session_id'))
  t.match(await fork('ann', 's1', { session_id: 'a/b' }), refused(400, 'session_id_invalid', 'session_id'))
  t.match(await fork('ann', 's1', { upto: 'turn_1' }), { status: 400 })
  t.equal((await get('ann', '/v1/sessions')).body.data.length, 2, 'nothing was made')
  t.match(
    await fork('ann', 's1', { session_id: 'turn_of_bob' }),
    { status: 201, body: { turns: 1 } },
    'without what waits'
  )
})

t.test('a branch is seen through its session, and goes with it', async t => {
  const { stores, finder, evicted, get, store, fork, fetchAs } = await aGateway(t)
  const key = sessionKey(ofA('ann'), 's1', 'key', 'left')
  const left = { ...reveals, key, branch: 'left', root: reveals.key }
  const owner = { tenant: 'a', keyId: 'ann' }
  await store('s1', aStoredTurn('turn_1'))
  await stores.sessions.openBranch(left, owner)
  await stores.sessions.append(left, owner, aStoredTurn('turn_2', { status: 'awaiting_client' }))
  await stores.sessions.reveal(left, owner, ['a'])
  t.match((await get('ann', '/v1/sessions/s1')).body, { turns: 1, branches: ['left'], revealed: [], status: 'idle' })
  const seen = { id: 's1', turns: 2, branches: [], revealed: ['a'], status: 'awaiting_client' }
  t.match((await get('ann', '/v1/sessions/s1?branch=left&view=recall')).body, { ...seen, messages: { length: 2 } })
  t.equal((await get('ann', '/v1/sessions/s1/messages?branch=left')).body.data.length, 8)
  t.equal((await get('ann', '/v1/sessions/s1/messages')).body.data.length, 4)
  t.equal((await get('ann', '/v1/sessions')).body.data.length, 1)
  for (const path of ['/v1/sessions/s1?branch=right', '/v1/sessions/s1/messages?branch=right']) {
    t.match(await get('ann', path), { status: 404, body: { error: { code: 'not_found' } } })
  }
  t.match(await get('bob', '/v1/sessions/s1?branch=left'), { status: 404 })
  await stores.sessions.append(left, owner, aStoredTurn('turn_3', { replaces: 'turn_2' }))
  t.match(await fork('ann', 's1', { turn_id: 'turn_3' }), { status: 201, body: { turns: 2, revealed: ['a'] } })

  finder.view(key, toolbox({ a: async () => ({ content: '', status: 'ok' }) }))
  t.equal((await fetchAs('ann', '/v1/sessions/s1/evict', { method: 'POST' })).status, 204)
  t.strictSame(evicted, ['api'])
  finder.view(key, toolbox({ a: async () => ({ content: '', status: 'ok' }) }))
  t.equal((await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })).status, 204)
  t.equal(finder.evict(key, 'api'), false)
  t.equal(await stores.sessions.get(key), undefined)
})

t.test('a key sees its own turns, an auditor the tenant’s, an admin all', async t => {
  const { stores, get } = await aGateway(t)
  const calls = [
    { id: 'c1', code: 'egress_blocked', duration_ms: 40 },
    { id: 'c2', code: 'tool_unreachable', duration_ms: 41 },
    { id: 'c3', code: null, duration_ms: 42 }
  ]
  const view = {
    id: 'turn_1',
    session_id: 's1',
    key_id: 'ann',
    status: 'completed',
    rounds: [{ n: 1, calls }],
    extra: 1
  }
  const row: TurnRow = {
    ...{ id: 'turn_1', tenant: 'a', keyId: 'ann', sessionId: 's1', createdAt: 1 },
    view: JSON.stringify(view)
  }
  stores.turns.saveLater(row)
  const hidden = { code: 'tool_unreachable', duration_ms: null }
  for (const who of ['ann', 'eve']) {
    const { status, body } = await get(who, '/v1/turns/turn_1')
    t.equal(status, 200, who)
    t.strictSame(body as object, {
      ...view,
      rounds: [{ n: 1, calls: [{ id: 'c1', ...hidden }, { id: 'c2', ...hidden }, calls[2]] }]
    })
  }
  t.strictSame((await get('adm', '/v1/turns/turn_1')).body as object, view)
  for (const who of ['bob', 'cat']) t.match(await get(who, '/v1/turns/turn_1'), { status: 404 }, who)
  t.match(await get('ann', '/v1/turns/turn_2'), { status: 404, body: { error: { code: 'not_found' } } })
})
