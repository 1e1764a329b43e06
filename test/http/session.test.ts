import t from 'tap'
import type { ConfigInput } from '../../src/config/schema.ts'
import type { Tool } from '../../src/core/chat.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { asked } from '../helper/asked.ts'
import { aPrincipal } from '../helper/edge.ts'
import { toolbox } from '../helper/turn.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '17', status: 'ok' })

const tools = toolbox({ stock_level: run, get_time: run })

t.test('the session id is the first found: header, body, metadata, conversation, extra headers', async t => {
  const config = { session: { extra_headers: ['X-Chat'] } }
  const everything = {
    session_id: 'b',
    metadata: { session_id: 'c' },
    conversation: 'd'
  }
  const headers = { 'x-session-id': 'a', 'x-chat': 'e' }
  const order: readonly [object, Record<string, string>, string][] = [
    [everything, headers, 'a'],
    [everything, { 'x-chat': 'e' }, 'b'],
    [{ ...everything, session_id: undefined }, {}, 'c'],
    [{ conversation: { id: 'd' }, metadata: {} }, { 'x-chat': 'e' }, 'd'],
    [{ user: 'u', prompt_cache_key: 'p' }, { 'x-chat': 'e' }, 'e']
  ]
  for (const [body, headers, id] of order) {
    const { turn, headers: answered } = await asked(body, { headers, config })
    t.match(turn?.session, { id, named: true, key: sessionKey(aPrincipal, id), branch: 'main' })
    t.equal(answered.get('x-session-id'), id)
  }
  const { turn } = await asked({ metadata: { session_id: 'c', a: 1 }, conversation: 'x' })
  t.strictSame(turn?.prompt.params, { metadata: { session_id: 'c', a: 1 } }, 'metadata passes on unchanged')
  t.match((await asked({ user: 'u', prompt_cache_key: 'p' })).turn?.session, { named: false, id: /^sess_/ })
})

t.test('a session id of another form is refused, wherever it stands', async t => {
  const bad = [{ session_id: '' }, { session_id: 5 }, { session_id: 'a b' }, { session_id: 'x'.repeat(129) }]
  for (const body of [...bad, { conversation: { id: ['a'] } }, { metadata: { session_id: 'ä' } }]) {
    t.match(await asked(body), { status: 400, error: { code: 'session_id_invalid', param: 'session_id' } })
  }
  t.match(await asked({}, { headers: { 'x-session-id': 'a/b' } }), { error: { code: 'session_id_invalid' } })
  t.equal((await asked({ session_id: 'x'.repeat(128) })).status, 200)
})

t.test('session keys: tenant, key and id make it; scope tenant leaves the key out', async t => {
  const key = sessionKey(aPrincipal, 's1')
  t.match(key, /^[0-9a-f]{32}$/)
  t.not(sessionKey({ ...aPrincipal, key: 'other' }, 's1'), key)
  t.not(sessionKey({ ...aPrincipal, tenant: 'other' }, 's1'), key)
  t.equal(sessionKey({ ...aPrincipal, key: 'other' }, 's1', 'tenant'), sessionKey(aPrincipal, 's1', 'tenant'))
  const { turn } = await asked({ session_id: 's1' }, { config: { session: { scope: 'tenant' } } })
  t.equal(turn?.session.key, sessionKey(aPrincipal, 's1', 'tenant'))
})

t.test('session.required: the table of the contract', async t => {
  const on = { memory: { mode: 'on' } } as const
  const search = { tool_search: { mode: 'on' } } as const
  const auto = { tool_search: { mode: 'auto', auto_min_tokens: 0 } } as const
  const table: readonly [string, ConfigInput, object, readonly [auto: number, always: number, never: number]][] = [
    ['neither applies', { tool_search: { mode: 'off' }, memory: { mode: 'off' } }, {}, [200, 400, 200]],
    ['memory on by config', on, {}, [400, 400, 200]],
    ['memory on by request', {}, { memory: 'on' }, [400, 400, 200]],
    ['memory on by config, off by request', on, { memory: 'off' }, [200, 400, 200]],
    ['search on by config', search, {}, [400, 400, 200]],
    ['search on by request', {}, { tool_search: { mode: 'on' } }, [400, 400, 200]],
    ['search came on by auto', auto, {}, [200, 400, 200]]
  ]
  for (const [title, config, loopgate, statuses] of table) {
    for (const [at, required] of (['auto', true, false] as const).entries()) {
      const request = await asked({ loopgate }, { tools, config: { ...config, session: { required } } })
      t.equal(request.status, statuses[at], `${title}, required ${required}`)
      if (request.status === 400) {
        t.match(request.error, { code: 'session_required', param: 'session_id' })
        t.equal(request.turn, undefined, 'no model was asked')
      } else t.match(request.headers.get('x-session-id'), /^sess_[0-9A-Z]{26}$/)
      const named = await asked({ loopgate, session_id: 's1' }, { tools, config: { ...config, session: { required } } })
      t.equal(named.status, 200, `${title}, with an id`)
    }
  }
})

t.test('memory: auto is on for a session the client named', async t => {
  t.equal((await asked({ session_id: 's1' })).turn?.policy.memory.mode, 'on')
  t.equal((await asked({})).turn?.policy.memory.mode, 'off')
  t.equal((await asked({ session_id: 's1', loopgate: { memory: 'off' } })).turn?.policy.memory.mode, 'off')
  t.match((await asked({ session_id: 's1', loopgate: { memory: { recall: 'all' } } })).turn?.policy.memory, {
    mode: 'on',
    recall: 'all'
  })
})

t.test('a branch has a key of its own, under its session; naming one opens it', async t => {
  const { turn, edge, headers } = await asked({ session_id: 's1', loopgate: { memory: { branch: 'left' } } })
  const key = sessionKey(aPrincipal, 's1', 'key', 'left')
  t.match(turn?.session, { id: 's1', key, root: sessionKey(aPrincipal, 's1'), branch: 'left', named: true })
  t.equal(headers.get('x-session-id'), 's1')
  t.strictSame(edge.opened, ['left'])
  const keys = [
    sessionKey(aPrincipal, 's1', 'key', 'right'),
    sessionKey(aPrincipal, 's2', 'key', 'left'),
    sessionKey({ ...aPrincipal, key: 'other' }, 's1', 'key', 'left'),
    sessionKey(aPrincipal, 's1', 'tenant', 'left'),
    sessionKey(aPrincipal, 'left'),
    sessionKey(aPrincipal, 's1')
  ]
  t.equal(new Set([key, ...keys]).size, 7)
})

t.test('main is the session itself; a branch needs a session and a name of the form of one', async t => {
  const main = await asked({ session_id: 's1', loopgate: { memory: { branch: 'main' } } })
  t.match(main.turn?.session, { key: sessionKey(aPrincipal, 's1'), branch: 'main', root: undefined })
  t.strictSame(main.edge.opened, [])
  t.match(await asked({ loopgate: { memory: { branch: 'left' } } }), {
    status: 400,
    error: { code: 'session_required', param: 'session_id' },
    turn: undefined
  })
  for (const branch of ['', 'a b', 'x'.repeat(129), 5]) {
    const refused = await asked({ session_id: 's1', loopgate: { memory: { branch } } })
    t.match(refused, { status: 400, turn: undefined, error: { code: 'invalid_request' } })
    t.strictSame(refused.edge.opened, [])
  }
  const fresh = await asked({ loopgate: { memory: { branch: 'left' } } }, { config: { session: { required: false } } })
  t.match(fresh.turn?.session, { named: false, branch: 'left' })
  t.strictSame(fresh.edge.opened, [], 'nothing is written for a session made up for the request')
})
