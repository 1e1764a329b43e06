import t from 'tap'
import { sessionKey } from '../../src/http/session-key.ts'
import { annsSession, aSessionsGateway, ofA } from '../helper/sessions-gateway.ts'
import { toolbox } from '../helper/turn.ts'
import { aStoredTurn } from '../stores/contract.ts'

t.test('a fork is a new session with the history up to a turn', async t => {
  const { get, store, fork, fetchAs } = await aSessionsGateway(t)
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
  const { get, store, fork } = await aSessionsGateway(t)
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
  const { stores, finder, evicted, get, store, fork, fetchAs } = await aSessionsGateway(t)
  const key = sessionKey(ofA('ann'), 's1', 'key', 'left')
  const left = { ...annsSession, key, branch: 'left', root: annsSession.key }
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
