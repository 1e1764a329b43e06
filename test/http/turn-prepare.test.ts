import t from 'tap'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import type { Message, Tool } from '../../src/core/chat.ts'
import { policyOf } from '../../src/http/policy.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { withoutOpenCalls } from '../../src/http/turn-history.ts'
import { NO_OPTIONS, type TurnOptions } from '../../src/http/turn-options.ts'
import { anEdge, aPrincipal, type EdgeOptions, post } from '../helper/edge.ts'
import { scripted, toolbox } from '../helper/turn.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '17', status: 'ok' })
const tools = toolbox({ stock_level: run, get_time: run })
const declared = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

/** One request to an edge of its own; what the model saw, and what the client got. */
async function asked(
  body: object,
  { headers = {}, ...options }: EdgeOptions & { headers?: Record<string, string> } = {}
) {
  const model = scripted([{ text: 'ok' }])
  const edge = await anEdge(model, options)
  const response = await post(edge, body, headers)
  const answer = (await response.json()) as { error?: { code: string; param: string; message: string } }
  await edge.close()
  return { status: response.status, headers: response.headers, ...answer, turn: model.seen[0], edge }
}

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

function policy(config: ConfigInput, options: Partial<TurnOptions>, some: ReadonlyMap<string, Tool> = tools) {
  return policyOf(configSchema.parse(config), { ...NO_OPTIONS, ...options }, { isNamed: true, tools: some })
}

t.test('limits of a request hold where they are tighter', async t => {
  const config = { limits: { max_calls: 10, max_rounds: -1, max_calls_per_tool: 5, per_tool: { a: 3, b: -1 } } }
  t.match(policy(config, {}).limits, { maxCalls: 10, maxRounds: -1, maxCallsPerTool: 5, maxTurnMs: 600_000 })
  const loose = policy(config, {
    limits: { max_calls: 99, max_rounds: -1, max_calls_per_tool: -1, per_tool: { a: 9 } }
  })
  t.match(loose.limits, { maxCalls: 10, maxRounds: -1, maxCallsPerTool: 5, perTool: { a: 3, b: -1 } })
  const tight = policy(config, {
    limits: {
      max_calls: 2,
      max_rounds: 4,
      max_tokens: 100,
      max_calls_per_tool: 2,
      per_tool: { c: 1 },
      limit_check: 'batch'
    },
    timeoutMs: 1000
  })
  t.match(tight.limits, {
    maxCalls: 2,
    maxRounds: 4,
    maxTokens: 100,
    maxTurnMs: 1000,
    maxCallsPerTool: 2,
    perTool: { a: 2, b: 2, c: 1 },
    limitCheck: 'batch'
  })
  const own = new Map([['d', { name: 'd', kind: 'builtin', maxCallsPerTurn: 50 } as const]])
  t.equal(policy(config, { limits: { max_calls_per_tool: 2 } }, own).limits.perTool.d, 2, 'a tool’s own limit too')
  const exempt = { limits: { exempt_tools: ['a', 'x_*'] } }
  t.strictSame(policy(exempt, { limits: { exempt_tools: ['a', 'z'] } }).limits.exemptTools, ['a'])
  t.strictSame(policy(exempt, { limits: { per_tool: { x_1: 1 } } }).limits.exemptTools, ['a'])
})

t.test('search results of a request stay under what is configured', async t => {
  const results = (tool_search: object, maxResults: number) =>
    policy({ tool_search }, { toolSearch: { maxResults } }).toolSearch
  t.match(results({}, 50), { maxResults: 10, maxResultsLimit: undefined })
  t.match(results({ max_results: 3 }, 5), { maxResults: 3 })
  t.match(results({ max_results: 3, max_results_limit: 8 }, 5), { maxResults: 5, maxResultsLimit: undefined })
  t.match(policy({ tool_search: { max_results: 3, max_results_limit: 8 } }, {}).toolSearch, {
    maxResults: 3,
    maxResultsLimit: 8
  })
})

t.test('what is not there yet is refused by name; the body wins over headers', async t => {
  const later: readonly [object, string][] = [
    [{ tool_execution: 'manual' }, 'loopgate.tool_execution'],
    [{ approvals: 'deny' }, 'loopgate.approvals'],
    [{ structured_output: {} }, 'loopgate.structured_output'],
    [{ cache: 'off' }, 'loopgate.cache'],
    [{ resumable: true }, 'loopgate.resumable'],
    [{ tool_search: 'preselect' }, 'loopgate.tool_search'],
    [{ memory: { branch: 'b' } }, 'loopgate.memory.branch'],
    [{ limits: { on_limit: 'tell_model' } }, 'loopgate.limits.on_limit'],
    [{ limits: { max_cost_usd: 1 } }, 'loopgate.limits.max_cost_usd']
  ]
  for (const [loopgate, param] of later) {
    t.match(await asked({ loopgate }), { status: 400, error: { code: 'unsupported_parameter', param } })
  }
  const wrong: readonly [object, string][] = [
    [{ nope: 1 }, 'loopgate.nope'],
    [{ limits: { max_call: 1 } }, 'loopgate.limits.max_call'],
    [{ tags: ['x'.repeat(65)] }, 'loopgate.tags[0]'],
    [{ tool_search: { max_results: 0 } }, 'loopgate.tool_search.max_results']
  ]
  for (const [loopgate, param] of wrong) {
    t.match(await asked({ loopgate }), { status: 400, error: { code: 'invalid_request', param } })
  }
  const headers = { 'x-loopgate-memory': 'off', 'x-loopgate-tool-search': 'off', 'x-loopgate-timeout-ms': '5000' }
  const { turn } = await asked({ session_id: 's', loopgate: { memory: 'on' } }, { headers })
  t.match(turn?.policy, { memory: { mode: 'on' }, toolSearch: { mode: 'off' }, limits: { maxTurnMs: 5000 } })
  t.match(await asked({}, { headers: { 'x-loopgate-timeout-ms': '1.5' } }), {
    error: { code: 'invalid_request', param: 'x-loopgate-timeout-ms' }
  })
  t.match(await asked({}, { headers: { 'x-loopgate-tool-execution': 'manual' } }), {
    error: { code: 'unsupported_parameter' }
  })
})

t.test('gateway tools: as configured, as asked, none with tool_choice none', async t => {
  const attach = async (body: object, config: ConfigInput = {}) => {
    const { edge, turn } = await asked(body, { tools, config })
    return { asked: edge.attached, offered: [...(turn?.prompt.tools.keys() ?? [])], same: turn?.prompt.tools === tools }
  }
  const all = ['stock_level', 'get_time']
  t.strictSame(await attach({}), { asked: [undefined], offered: all, same: true }, 'the catalog’s own Map')
  t.strictSame((await attach({ loopgate: { tools: ['stock_*'] } })).asked, [{ allow: ['stock_*'] }])
  t.strictSame((await attach({ loopgate: { tools: { deny: ['a'] } } })).asked, [{ deny: ['a'] }])
  t.strictSame(await attach({ loopgate: { tools: [] } }), { asked: [], offered: [], same: false })
  t.strictSame((await attach({ tool_choice: 'none', tools: [declared('x')] })).offered, ['x'])
  const none = { tools_attach: 'none' } as const
  t.strictSame((await attach({}, none)).offered, [])
  t.strictSame((await attach({ loopgate: { tools: ['a'] } }, none)).asked, [{ allow: ['a'] }])
})

t.test('the finder hears that a turn with tools is over, whatever came of it', async t => {
  const key = sessionKey(aPrincipal, 's1')
  t.strictSame((await asked({ session_id: 's1' }, { tools })).edge.released, [key])
  t.strictSame((await asked({ session_id: 's1' })).edge.released, [])
})

t.test('a client tool named like a gateway tool wins; the gateway’s is left out, with a note', async t => {
  const { turn, headers, edge } = await asked({ tools: [declared('get_time'), declared('mine')] }, { tools })
  t.strictSame(
    [...(turn?.prompt.tools ?? [])].map(([name, { kind }]) => [name, kind]),
    [
      ['stock_level', 'builtin'],
      ['get_time', 'client'],
      ['mine', 'client']
    ]
  )
  t.equal(headers.get('x-loopgate-notes'), 'shadowed:get_time')
  t.strictSame(edge.views()[0].notes, ['shadowed:get_time'])
})

t.test('several choices are refused while gateway tools are offered, not otherwise', async t => {
  t.match(await asked({ n: 2 }, { tools }), { status: 400, error: { code: 'invalid_request', param: 'n' } })
  t.equal((await asked({ n: 2, loopgate: { tools: [] } }, { tools })).status, 200)
  t.equal((await asked({ n: 1 }, { tools })).status, 200)
})

t.test('scripts are for sim-script, and only where they are allowed', async t => {
  const targets = { sim: { provider: 'sim', model: 'sim' }, play: { provider: 'sim', model: 'sim-script' } }
  const body = { model: 'play', loopgate: { script: [{ text: 'a' }] } }
  const { turn } = await asked(body, { targets, allowScript: true })
  t.strictSame(turn?.prompt.params, { loopgate_script: [{ text: 'a' }] })
  t.match(await asked(body, { targets }), { error: { code: 'unsupported_parameter', param: 'loopgate.script' } })
  t.match(await asked({ ...body, model: 'sim' }, { targets, allowScript: true }), {
    error: { code: 'invalid_request' }
  })
  t.strictSame(
    (await asked({ loopgate_script: [1] })).turn?.prompt.params,
    {},
    'a field of that name is not a way round'
  )
})

t.test('a request that came through too many gateways is a loop', async t => {
  const hops = (n: string) => asked({}, { headers: { 'x-gateway-hops': n } })
  const refused = await hops('4')
  t.match(refused, { status: 508, error: { code: 'loop_detected' } })
  t.equal(refused.headers.get('x-should-retry'), 'false')
  t.equal((await hops('3')).turn?.request.hops, 3)
  t.equal((await hops('x')).turn?.request.hops, 0)
})

t.test('the turn knows its request: id, trace, context, question', async t => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const { turn } = await asked(
    { loopgate: { context: { user: 'u1' } }, messages: [...history('c9'), { role: 'user', content: 'And now?' }] },
    { headers: { traceparent, 'x-request-id': 'r1' } }
  )
  t.match(turn?.request, { id: 'r1', traceparent, hops: 0, context: { user: 'u1' } })
  t.equal(turn?.prompt.messages.find(({ id }) => id === turn.question)?.content, 'And now?')
  t.match((await asked({}, { headers: { traceparent: 'junk' } })).turn?.request, { traceparent: undefined })
  const continued = await asked({ messages: history('c1') })
  t.equal(
    continued.turn?.prompt.messages[0]?.id,
    continued.turn?.question,
    'results go on with the turn of the question'
  )
})

/** A question, a call, its result. */
function history(id: string, name = 'mine') {
  return [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content: '21' }
  ]
}

t.test('unanswered calls of gateway tools in a client’s history are dropped, the search tool’s too', async t => {
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  const ask = (tool_calls: object[], content: string | null = null, client: object[] = []) =>
    asked(
      {
        tools: client,
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content, tool_calls }
        ]
      },
      { tools }
    )
  const kept = async (...args: Parameters<typeof ask>) => {
    const messages = (await ask(...args)).turn?.prompt.messages ?? []
    return messages.flatMap(message => (message.role === 'assistant' ? [message.calls.map(({ name }) => name)] : []))
  }
  t.strictSame(await kept([call('a', 'stock_level')]), [], 'a message that held nothing else goes too')
  t.strictSame(await kept([call('a', 'stock_level')], 'Let me see.'), [[]])
  t.strictSame(await kept([call('a', 'stock_level'), call('b', 'mine')]), [['mine']])
  t.strictSame(await kept([call('a', 'toolSearchTool')]), [])
  t.strictSame(
    await kept([call('a', 'get_time')], null, [declared('get_time')]),
    [['get_time']],
    'the client’s own stays'
  )
  const answered = (await asked({ messages: history('c1', 'stock_level') }, { tools })).turn?.prompt.messages
  t.match(answered, [{ role: 'user' }, { role: 'assistant', calls: [{ id: 'c1' }] }, { role: 'tool', callId: 'c1' }])
  const later: Message[] = [
    { role: 'assistant', id: '1', content: '', calls: [{ id: 'a', name: 'f', arguments: '' }] },
    { role: 'assistant', id: '2', content: '', calls: [{ id: 'a', name: 'f', arguments: '' }] },
    { role: 'tool', id: '3', callId: 'a', content: '' }
  ]
  t.strictSame(
    withoutOpenCalls(later, () => true).map(({ id }) => id),
    ['2', '3'],
    'a result belongs to the message before it'
  )
})

t.test('a result whose call is not in the request must answer one that is open in the session', async t => {
  const message = { role: 'tool', tool_call_id: 'c1', content: '21' }
  const waiting = [
    {
      id: 'turn_1',
      status: 'awaiting_client' as const,
      createdAt: 1,
      messages: [
        { role: 'user' as const, id: 'q', content: 'Weather?' },
        { role: 'assistant' as const, id: 'a', content: '', calls: [{ id: 'c1', name: 'mine', arguments: '{}' }] }
      ]
    }
  ]
  t.equal((await asked({ messages: [message], session_id: 's1' }, { waiting })).status, 200)
  const orphan = { status: 400, error: { code: 'invalid_request', param: 'messages[0].tool_call_id' } }
  t.match(await asked({ messages: [message] }, { waiting }), orphan, 'no session named')
  const off = { messages: [message], session_id: 's1', loopgate: { memory: 'off' } }
  t.match(await asked(off, { waiting }), orphan, 'nothing is remembered')
  t.match(await asked({ messages: [message], session_id: 's1' }), orphan, 'nothing waits')
  const other = await asked({ messages: [{ ...message, tool_call_id: 'c2' }], session_id: 's1' }, { waiting })
  t.match(other, orphan)
  t.match(other.error?.message, /messages\[0\].*tool_call_id c2/)
})
