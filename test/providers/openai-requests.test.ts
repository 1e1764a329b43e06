/** What is sent for a prompt. */
import t from 'tap'
import type { AssistantMessage, Message, Prompt, Tool } from '../../src/core/chat.ts'
import type { Turn } from '../../src/core/turn.ts'
import { type OpenAIOptions, openaiProvider } from '../../src/providers/openai/provider.ts'
import { aTurn, listener } from '../helper/turn.ts'
import { chunk, DONE, scriptedServer } from './scripted-server.ts'

const TIMEOUTS = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000 }
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

t.test('the sdk signs in with the key it has, and with none when there is none', async t => {
  t.match((await sent({}, { transport: 'sdk', apiKey: 'k' })).headers, { authorization: 'Bearer k' })
  const { headers, body } = await sent({ params: { seed: 1 } }, { transport: 'sdk', headers: { 'api-key': 'z' } })
  t.notOk('authorization' in headers)
  t.match(headers, { 'api-key': 'z', 'content-type': 'application/json', 'x-gateway-hops': '1' })
  t.match(body, { model: 'm', seed: 1 })
})
