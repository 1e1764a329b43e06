import t from 'tap'
import type { ConfigInput } from '../../src/config/schema.ts'
import type { Message, Tool } from '../../src/core/chat.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { withoutOpenCalls } from '../../src/http/turn-history.ts'
import { asked } from '../helper/asked.ts'
import { anEdge, aPrincipal, post } from '../helper/edge.ts'
import { scripted, toolbox } from '../helper/turn.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '17', status: 'ok' })

const tools = toolbox({ stock_level: run, get_time: run })

const declared = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

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
  const whole = await anEdge(scripted([{ text: 'ok' }]), { tools })
  t.teardown(() => whole.close())
  const stream = await post(whole, { stream: true, tools: [declared('get_time')] })
  t.equal(stream.headers.get('x-loopgate-notes'), 'shadowed:get_time', 'on the head of a stream too')
  await stream.text()
})

t.test(
  'several choices are refused while gateway tools are offered and by providers that make one, not otherwise',
  async t => {
    t.match(await asked({ n: 2 }, { tools }), { status: 400, error: { code: 'invalid_request', param: 'n' } })
    t.equal((await asked({ n: 2, loopgate: { tools: [] } }, { tools })).status, 200)
    t.equal((await asked({ n: 1 }, { tools })).status, 200)
    const targets = { sim: { provider: 'sim', model: 'sim', kind: 'sim' } }
    t.match(await asked({ n: 2 }, { targets }), { status: 400, error: { code: 'invalid_request', param: 'n' } })
    t.equal((await asked({ n: 1 }, { targets })).status, 200)
  }
)

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
  t.equal((await asked(off, { waiting })).status, 200, 'also where nothing is remembered')
  t.match(await asked({ messages: [message], session_id: 's1' }), orphan, 'nothing waits')
  const other = await asked({ messages: [{ ...message, tool_call_id: 'c2' }], session_id: 's1' }, { waiting })
  t.match(other, orphan)
  t.match(other.error?.message, /messages\[0\].*tool_call_id c2/)
})
