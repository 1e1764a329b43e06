import t from 'tap'
import { sessionKey } from '../../src/http/session-key.ts'
import type { TurnRow } from '../../src/stores/contracts.ts'
import { annsSession, aSessionsGateway, ofA } from '../helper/sessions-gateway.ts'
import { toolbox } from '../helper/turn.ts'
import { aStoredTurn } from '../stores/contract.ts'

t.test('a session shows its figures, its revealed tools and what it waits for', async t => {
  const { stores, get, store } = await aSessionsGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  await stores.sessions.reveal(annsSession, { tenant: 'a', keyId: 'ann' }, ['stock_level'])
  const idle = await get('ann', '/v1/sessions/s1')
  t.match(idle, { status: 200, body: { id: 's1', turns: 1, revealed: ['stock_level'], status: 'idle' } })
  t.match(idle.body.created_at, /^20\d\d-.*Z$/)
  t.notOk('messages' in idle.body)
  await store('s1', aStoredTurn('turn_2', { status: 'awaiting_client' }))
  t.match((await get('ann', '/v1/sessions/s1')).body, { status: 'awaiting_client', turns: 2 })
})

t.test('view=recall adds what the next turn would recall by the configuration, as OpenAI spells it', async t => {
  const { get, store } = await aSessionsGateway(t, { memory: { recall: 'all', window: { max_turns: 1 } } })
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
  const { get, store, fetchAs } = await aSessionsGateway(t)
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
  const { get, store } = await aSessionsGateway(t)
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
  const { get, store, fetchAs } = await aSessionsGateway(t)
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
  const { stores, get } = await aSessionsGateway(t, { session: { scope: 'tenant' } })
  const shared = { ...annsSession, key: sessionKey(ofA('ann'), 's1', 'tenant') }
  await stores.sessions.append(shared, { tenant: 'a', keyId: 'ann' }, aStoredTurn('turn_1'))
  t.equal((await get('bob', '/v1/sessions/s1')).status, 200)
  t.equal((await get('cat', '/v1/sessions/s1')).status, 404)
})

t.test('deleting takes everything, and the view', async t => {
  const { get, store, fetchAs, finder } = await aSessionsGateway(t)
  await store('s1', aStoredTurn('turn_1'))
  finder.view(annsSession.key, toolbox({ a: async () => ({ content: '', status: 'ok' }) }))
  const gone = await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })
  t.equal(gone.status, 204)
  t.equal((await get('ann', '/v1/sessions/s1')).status, 404)
  t.equal((await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })).status, 404)
  t.equal(finder.evict(annsSession.key, 'api'), false)
})

t.test('evicting frees the view of a session, also of one that has nothing stored yet', async t => {
  const { store, fetchAs, finder, evicted } = await aSessionsGateway(t)
  const tools = toolbox({ a: async () => ({ content: '', status: 'ok' }) })
  const evict = async () => (await fetchAs('ann', '/v1/sessions/s1/evict', { method: 'POST' })).status
  t.equal(await evict(), 404)
  finder.view(annsSession.key, tools)
  t.equal(await evict(), 204)
  t.strictSame(evicted, ['api'])
  await store('s1', aStoredTurn('turn_1'))
  t.equal(await evict(), 204, 'nothing to free is fine')
})

t.test('a key sees its own turns, an auditor the tenant’s, an admin all', async t => {
  const { stores, get } = await aSessionsGateway(t)
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

t.test('a turn that waited in a session that was deleted is cancelled', async t => {
  const { stores, store, fetchAs } = await aSessionsGateway(t)
  await store('s1', aStoredTurn('turn_1', { status: 'awaiting_client' }))
  const calls = [{ id: 'c1', status: 'open', is_error: false }]
  const view = JSON.stringify({ status: 'awaiting_client', usage: {}, rounds: [{ n: 1, calls }] })
  await stores.turns.save({ id: 'turn_1', tenant: 'a', keyId: 'ann', sessionId: 's1', createdAt: 1, view })
  t.equal((await fetchAs('ann', '/v1/sessions/s1', { method: 'DELETE' })).status, 204)
  const now = JSON.parse((await stores.turns.get('turn_1'))?.view ?? '')
  t.match(now, { status: 'cancelled', rounds: [{ calls: [{ status: 'not_run' }] }] })
})
