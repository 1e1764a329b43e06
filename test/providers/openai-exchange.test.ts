/** How requests travel: what is sent, how long is waited, and what happens when somebody leaves. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { AssistantMessage, Delta, Message, Prompt, Tool } from '../../src/core/chat.ts'
import type { Turn } from '../../src/core/turn.ts'
import { type OpenAIOptions, openaiProvider } from '../../src/providers/openai/provider.ts'
import { aTurn, listener } from '../helper/turn.ts'
import { chunk, DONE, scriptedServer } from './scripted-server.ts'

const TIMEOUTS = { connectMs: 2000, firstByteMs: 2000, idleMs: 2000 }
const OK = { headers: { 'content-type': 'application/json' }, chunks: [completion('hi')] }
const STREAM = { chunks: [chunk({ content: 'hi' }), chunk({}, 'stop'), DONE] }

function completion(content: string): string {
  return JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] })
}

function provider(baseUrl: string, options: Partial<OpenAIOptions> = {}): ReturnType<typeof openaiProvider> {
  return openaiProvider({ name: 'up', baseUrl, timeouts: TIMEOUTS, transport: 'http', ...options })
}

/** The body that is sent for a prompt. */
async function sent(
  prompt: Partial<Prompt>,
  options: Partial<OpenAIOptions> = {},
  changes: Partial<Turn> = {}
): Promise<{ body: Record<string, unknown>; messages: Record<string, unknown>[]; headers: Record<string, unknown> }> {
  await using server = await scriptedServer(changes.emit ? STREAM : OK)
  const up = provider(server.url, options)
  const turn = aTurn(changes)
  await up.chat({ ...turn, prompt: { ...turn.prompt, model: 'm', ...prompt } })
  await up.close()
  const [received] = server.received
  const { body = {}, headers = {} } = received ?? {}
  return { body, messages: body.messages as Record<string, unknown>[], headers }
}

const said = (changes: Partial<AssistantMessage>): AssistantMessage => ({
  role: 'assistant',
  id: 'msg_a',
  content: '',
  calls: [],
  ...changes
})
const question: Message = { role: 'user', id: 'msg_question', content: 'q' }
const aCall = { id: 'c1', name: 'f', arguments: '{"n":9007199254740993}' }

t.test('a prompt is sent as its author wrote it', async t => {
  const messages: Message[] = [
    { role: 'system', id: 's', content: 'be brief' },
    { role: 'system', id: 'd', content: 'be kind', developer: true, extra: { name: 'ops' } },
    {
      role: 'user',
      id: 'msg_question',
      content: [
        { type: 'text', text: 'look', extra: { prompt_cache_breakpoint: true } },
        { type: 'other', value: { type: 'image_url', image_url: { url: 'data:x' } } }
      ],
      extra: { name: 'ann' }
    },
    said({ calls: [{ ...aCall, extra: { extra_content: { s: 1 } } }], extra: { annotations: [] } }),
    { role: 'tool', id: 't', callId: 'c1', content: 'ok', extra: { x: 1 } }
  ]
  const params = { temperature: 0.5, seed: 7, unknown_thing: { a: 1 }, loopgate_script: [1] }
  const { body, headers } = await sent({ messages, params }, { apiKey: 'k', headers: { 'X-Own': 'yes' } })
  t.same(body, {
    model: 'm',
    temperature: 0.5,
    seed: 7,
    unknown_thing: { a: 1 },
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'developer', content: 'be kind', name: 'ops' },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'look', prompt_cache_breakpoint: true },
          { type: 'image_url', image_url: { url: 'data:x' } }
        ]
      },
      {
        role: 'assistant',
        content: null,
        annotations: [],
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: aCall.arguments }, extra_content: { s: 1 } }
        ]
      },
      { role: 'tool', tool_call_id: 'c1', content: 'ok', x: 1 }
    ]
  })
  t.match(headers, { authorization: 'Bearer k', 'x-own': 'yes', accept: 'application/json', 'x-gateway-hops': '1' })
})

t.test('a stream always asks for usage, a call never for a stream', async t => {
  const { emit } = listener()
  const params = { stream_options: { include_obfuscation: false, include_usage: false } }
  const { body } = await sent({ params }, {}, { emit })
  t.equal(body.stream, true)
  t.same(body.stream_options, { include_obfuscation: false, include_usage: true })
  const call = await sent({ params })
  t.notOk('stream' in call.body || 'stream_options' in call.body)
})

t.test("the client's tools go out as declared, the gateway's as functions, in their order", async t => {
  const declared = { type: 'function', function: { name: 'mine', strict: true, parameters: {} } }
  const tools = new Map<string, Tool>([
    ['f', { name: 'f', description: 'does f', kind: 'webhook', parameters: { type: 'object', required: ['x'] } }],
    ['mine', { name: 'mine', kind: 'client', declared }],
    ['g', { name: 'g', kind: 'builtin' }]
  ])
  const { body } = await sent({ tools, params: { tool_choice: 'auto', parallel_tool_calls: false } })
  t.same(body.tools, [
    {
      type: 'function',
      function: { name: 'f', description: 'does f', parameters: { type: 'object', required: ['x'] } }
    },
    declared,
    { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } }
  ])
  t.match(body, { tool_choice: 'auto', parallel_tool_calls: false })
  const without = await sent({ params: { tool_choice: 'none', parallel_tool_calls: false } })
  t.notOk('tools' in without.body || 'tool_choice' in without.body || 'parallel_tool_calls' in without.body)
})

t.test('an empty text beside calls is null, "" or what its author wrote', async t => {
  const contentOf = async (message: AssistantMessage, options: Partial<OpenAIOptions> = {}): Promise<unknown> => {
    const { messages } = await sent({ messages: [question, message] }, options)
    return 'content' in (messages[1] ?? {}) ? messages[1]?.content : 'ABSENT'
  }
  t.equal(await contentOf(said({ calls: [aCall] })), null)
  t.equal(await contentOf(said({ calls: [aCall] }), { emptyAssistantContent: 'empty_string' }), '')
  t.equal(await contentOf(said({})), '')
  t.equal(await contentOf(said({ calls: [aCall], empty: 'text' })), '')
  t.equal(await contentOf(said({ calls: [aCall], empty: 'null' }), { emptyAssistantContent: 'empty_string' }), null)
  t.equal(await contentOf(said({ calls: [aCall], empty: 'absent' })), 'ABSENT')
  t.equal(await contentOf(said({ calls: [aCall], content: 'wait' })), 'wait')
})

t.test('reasoning goes back within its turn, as received, or where the provider wants it', async t => {
  const reasoning = { text: 'let me see', field: 'reasoning' }
  const thought = said({ calls: [aCall], reasoning, extra: { reasoning_details: [1] } })
  const messages = [{ ...thought, id: 'old' }, question, thought]
  const replayed = async (replayReasoning: string): Promise<Record<string, unknown>[]> =>
    (await sent({ messages }, { replayReasoning })).messages
  const auto = await replayed('auto')
  t.equal(auto[2]?.reasoning, 'let me see')
  t.notOk('reasoning' in (auto[0] ?? {}), 'not of an earlier turn')
  t.equal((await replayed('reasoning_content'))[2]?.reasoning_content, 'let me see')
  const never = await replayed('never')
  t.notOk('reasoning' in (never[2] ?? {}) || 'reasoning_details' in (never[2] ?? {}))
  const client = { ...thought, origin: 'client' as const }
  t.equal((await sent({ messages: [client, question] })).messages[0]?.reasoning, 'let me see', "the client's stays")
})

t.test('the path and query of a base URL are kept, and connections are used again', async t => {
  await using server = await scriptedServer(OK, STREAM, OK)
  const up = provider(`${server.url}/deep/?api-version=1`)
  await up.chat(aTurn())
  t.equal(server.received[0]?.path, '/v1/deep/chat/completions?api-version=1')
  await sleep(20)
  await up.chat(aTurn({ emit: listener().emit }))
  await sleep(20)
  await up.chat(aTurn())
  t.equal(server.connections(), 1, 'also after a stream')
  await up.close()
})

t.test('many streams run at once', async t => {
  await using server = await scriptedServer({
    chunks: [chunk({ content: 'a' }), 100, chunk({ content: 'b' }, 'stop'), DONE]
  })
  const up = provider(server.url)
  const startedAt = Date.now()
  const texts = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const { emit, text } = listener()
      await up.chat(aTurn({ emit }))
      return text()
    })
  )
  t.ok(texts.every(text => text === 'ab'))
  t.ok(Date.now() - startedAt < 1500)
  await up.close()
})

for (const transport of ['http', 'sdk'] as const) {
  t.test(`${transport}: whoever leaves closes the upstream at once, before the head and in the middle`, async t => {
    for (const step of [
      { end: 'no-head' as const },
      { ...STREAM, chunks: [chunk({ content: 'a' })], end: 'hang' as const }
    ]) {
      for (const emit of [listener().emit, undefined]) {
        await using server = await scriptedServer(step)
        const up = provider(server.url, { transport })
        const leaving = new AbortController()
        const turn = aTurn({ signal: leaving.signal, ...(emit && { emit }) })
        const answer = up.chat(turn)
        while (server.received.length === 0) await sleep(5)
        await sleep(20)
        const leftAt = Date.now()
        const reason = new Error('client left')
        leaving.abort(reason)
        await t.rejects(answer, reason)
        await server.received[0]?.left
        t.ok(Date.now() - leftAt < 500)
        t.match(turn.told, [{ type: 'attempt', outcome: 'cancelled' }])
        await up.close()
      }
    }
  })

  t.test(`${transport}: a turn that is over already asks nobody`, async t => {
    await using server = await scriptedServer(OK)
    const up = provider(server.url, { transport })
    await t.rejects(up.chat(aTurn({ signal: AbortSignal.abort(new Error('over')) })), { message: 'over' })
    t.equal(server.received.length, 0)
    await up.close()
  })

  t.test(`${transport}: silence ends the wait, with the phase it happened in`, async t => {
    const timeouts = { connectMs: 150, firstByteMs: 200, idleMs: 200 }
    const stall = { chunks: [chunk({ content: 'hal' })], end: 'hang' as const }
    for (const [step, phase] of [
      [{ end: 'no-head' as const }, 'first_byte'],
      [stall, 'idle']
    ] as const) {
      await using server = await scriptedServer(step)
      const up = provider(server.url, { timeouts, transport })
      const { emit, text } = listener()
      const startedAt = Date.now()
      const turn = aTurn({ emit })
      const error = await up.chat(turn).then(
        () => undefined,
        (error: unknown) => error
      )
      t.match(error, { code: 'upstream_timeout', status: 504, transient: true, detail: { phase } }, phase)
      t.notMatch(String(error), /terminated|UND_ERR/)
      t.ok(Date.now() - startedAt < 1000)
      await server.received[0]?.left
      t.equal(text(), phase === 'idle' ? 'hal' : '')
      t.match(turn.told, [{ type: 'attempt', outcome: 'upstream_timeout' }])
      await up.close()
    }
  })

  t.test(`${transport}: a provider that is not there is disconnected, not a crash`, async t => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const up = provider(`http://127.0.0.1:${port}/v1`, { transport })
    const turn = aTurn()
    await t.rejects(up.chat(turn), { code: 'upstream_disconnected', transient: true })
    t.match(turn.told, [{ type: 'attempt', outcome: 'upstream_disconnected' }])
    t.notMatch(JSON.stringify(turn.told), String(port))
    await up.close()
  })

  t.test(`${transport}: a listener that asks for time stops the reading`, async t => {
    const piece = chunk({ content: 'x'.repeat(65536) })
    const pieces = 400
    await using server = await scriptedServer({
      chunks: [...Array<string>(pieces).fill(piece), chunk({}, 'stop'), DONE]
    })
    const up = provider(server.url, { transport, timeouts: { ...TIMEOUTS, idleMs: 300 } })
    const gate = Promise.withResolvers<void>()
    const heard: Delta[] = []
    const answer = up.chat(
      aTurn({
        emit: delta => {
          heard.push(delta)
          return heard.length === 2 ? gate.promise : undefined
        }
      })
    )
    await sleep(700)
    t.equal(heard.length, 2, 'and a slow listener is not an idle provider')
    t.ok((server.received[0]?.written ?? pieces) < pieces, 'the provider had to stop too')
    gate.resolve()
    t.equal((await answer).message.content.length, pieces * 65536)
    t.equal(heard.length, pieces)
    await up.close()
  })

  t.test(`${transport}: a listener that fails ends the upstream`, async t => {
    await using server = await scriptedServer({ chunks: [chunk({ content: 'a' })], end: 'hang' })
    const up = provider(server.url, { transport })
    for (const fail of [
      () => Promise.reject(new Error('gone')),
      (): never => {
        throw new Error('gone')
      }
    ]) {
      await t.rejects(up.chat(aTurn({ emit: fail })), { message: 'gone' })
    }
    await Promise.all(server.received.map(({ left }) => left))
    await up.close()
  })
}

t.test('steady pieces keep an answer alive longer than the silence that ends it', async t => {
  const slow = Array.from({ length: 6 }, () => [chunk({ content: 'a' }), 100]).flat()
  await using server = await scriptedServer({ chunks: [...slow, chunk({}, 'stop'), DONE] })
  const up = provider(server.url, { timeouts: { connectMs: 1000, firstByteMs: 300, idleMs: 300 } })
  t.equal((await up.chat(aTurn({ emit: listener().emit }))).message.content, 'aaaaaa')
  await up.close()
})

t.test('a connection that never comes about ends the wait', async t => {
  // It takes the connection and never answers the TLS handshake.
  const sockets: Socket[] = []
  const server = createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const up = provider(`https://127.0.0.1:${port}/v1`, { timeouts: { ...TIMEOUTS, connectMs: 150 } })
  const startedAt = Date.now()
  const left = new AbortController()
  await t.rejects(up.chat(aTurn()), { code: 'upstream_timeout', detail: { phase: 'connect' } })
  t.ok(Date.now() - startedAt < 1000)
  const leaving = up.chat(aTurn({ signal: left.signal }))
  left.abort(new Error('left'))
  await t.rejects(leaving, { message: 'left' })
  for (const socket of sockets) socket.destroy()
  server.close()
})

t.test('the sdk signs in with the key it has, and with none when there is none', async t => {
  t.match((await sent({}, { transport: 'sdk', apiKey: 'k' })).headers, { authorization: 'Bearer k' })
  const { headers, body } = await sent({ params: { seed: 1 } }, { transport: 'sdk', headers: { 'api-key': 'z' } })
  t.notOk('authorization' in headers)
  t.match(headers, { 'api-key': 'z', 'content-type': 'application/json', 'x-gateway-hops': '1' })
  t.match(body, { model: 'm', seed: 1 })
})
