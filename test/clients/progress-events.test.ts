import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import t from 'tap'
import { startGateway } from '../../src/cases/gateway.ts'

interface Event {
  readonly type: string
  readonly n: number
  readonly [field: string]: unknown
}
interface Round {
  readonly n: number
  readonly usage: { readonly total_tokens: number }
  readonly calls: readonly { readonly tool: string; readonly status: string }[]
}
interface Extras {
  readonly loopgate?: {
    readonly event?: Event
    readonly rounds?: number
    readonly finish?: string
    readonly round_list?: readonly Round[]
  }
}

// Starts a process, which takes a while on a busy machine.
t.setTimeout(300_000)

const webhooks = createServer((request, response) => {
  request.resume()
  response.statusCode = request.url === '/broken' ? 400 : 200
  response.setHeader('content-type', 'application/json').end('{"units":17}')
})
await new Promise<void>(resolve => webhooks.listen(0, '127.0.0.1', resolve))
webhooks.unref()
const { port } = webhooks.address() as AddressInfo
const tool = (name: string, description: string) => ({
  name,
  description,
  endpoint: { url: `http://127.0.0.1:${port}/${name}`, egress_policy: 'internal' }
})
const gateway = await startGateway({
  config: {
    default_model: 'sim-script',
    sim: { allow_script: true },
    tools: [tool('stock_level', 'Units in the warehouse'), tool('broken', 'Warehouse report that fails')]
  }
})
t.teardown(async () => {
  await gateway.stop()
  webhooks.close()
})

/** Three rounds: a search, one call that works beside one that does not, the answer. */
const script = [
  {
    text: 'Let me search.',
    calls: [{ id: 'c1', name: 'toolSearchTool', arguments: { query: 'warehouse' } }],
    usage: { prompt_tokens: 10, completion_tokens: 1 }
  },
  {
    calls: [
      { id: 'c2', name: 'stock_level', arguments: {} },
      { id: 'c3', name: 'broken', arguments: {} }
    ],
    usage: { prompt_tokens: 20, completion_tokens: 2 }
  },
  { text: 'There are 17.', usage: { prompt_tokens: 30, completion_tokens: 3 } }
]
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any', maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'How many BX-1?' }]
const asking = (session: string, include: readonly string[]) => ({
  ...{ model: 'sim-script', messages, session_id: session },
  loopgate: { script, include, tool_search: 'on' }
})
const told = (chunk: ChatCompletionChunk) => (chunk as Extras).loopgate

t.test('events of rounds, searches and tools come through the official SDK as typed chunks, in order', async t => {
  const chunks: ChatCompletionChunk[] = []
  const stream = await client.chat.completions.create({
    ...asking('s-events', ['events']),
    ...{ stream: true, stream_options: { include_usage: true } }
  })
  for await (const chunk of stream) chunks.push(chunk)
  const events = chunks.map(chunk => told(chunk)?.event).filter(event => event !== undefined)
  t.ok(chunks.filter(chunk => told(chunk)?.event).every(({ choices }) => choices.length === 0))
  t.strictSame(
    events.filter(({ type }) => !type.startsWith('tool.')).map(({ type, n }) => `${type} ${n}`),
    ['round.start 1', 'round.end 1', 'search 1', 'round.start 2', 'round.end 2', 'round.start 3', 'round.end 3']
  )
  t.match(events.find(({ type }) => type === 'search')?.found, ['stock_level', 'broken'])
  const tools = events.filter(({ type }) => type.startsWith('tool.'))
  t.strictSame(
    tools.map(({ type, n, tool, call_id, is_error }) => [call_id, type, n, tool, is_error]).toSorted(),
    [
      ['c1', 'tool.end', 1, 'toolSearchTool', false],
      ['c1', 'tool.start', 1, 'toolSearchTool', undefined],
      ['c2', 'tool.end', 2, 'stock_level', false],
      ['c2', 'tool.start', 2, 'stock_level', undefined],
      ['c3', 'tool.end', 2, 'broken', true],
      ['c3', 'tool.start', 2, 'broken', undefined]
    ],
    'a tool that fails ends with is_error'
  )
  for (const end of tools.filter(({ type }) => type === 'tool.end')) t.type(end.duration_ms, 'number')
  for (const id of ['c1', 'c2', 'c3']) {
    const types = tools.filter(({ call_id }) => call_id === id).map(({ type }) => type)
    t.strictSame(types, ['tool.start', 'tool.end'], 'it starts before it ends')
  }
  t.match(
    events.filter(({ type }) => type === 'round.end'),
    [
      { usage: { total_tokens: 11 }, usage_so_far: { total_tokens: 11 } },
      { usage: { total_tokens: 22 }, usage_so_far: { total_tokens: 33 } },
      { usage: { total_tokens: 33 }, usage_so_far: { total_tokens: 66 } }
    ],
    'each round tells its usage and that of the turn so far'
  )
  const counted = chunks.filter(({ usage }) => usage)
  t.match(counted, [{ choices: [], usage: { prompt_tokens: 60, completion_tokens: 6, total_tokens: 66 } }])
  t.equal(counted[0], chunks.at(-1), 'usage is on the last chunk, which has no choice')
})

t.test("the SDK's own helpers read a stream with events as one without", async t => {
  const helper = client.chat.completions.stream({
    ...asking('s-helper', ['events', 'rounds']),
    ...{ stream_options: { include_usage: true } }
  })
  const heard: string[] = []
  helper.on('chunk', chunk => void heard.push(told(chunk)?.event?.type ?? ''))
  const answer = await helper.finalChatCompletion()
  t.match(answer.choices, [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Let me search.\n\nThere are 17.' } }
  ])
  t.notOk(answer.choices[0]?.message.tool_calls?.length, 'calls of the gateway are no calls of the client')
  t.match(await helper.totalUsage(), { total_tokens: 66 })
  t.equal(heard.filter(type => type === 'tool.end').length, 3)
})

t.test('nobody who did not ask hears of rounds, searches or tools', async t => {
  const stream = await client.chat.completions.create({ ...asking('s-none', []), stream: true })
  for await (const chunk of stream) t.equal(told(chunk), undefined)
})

t.test('the breakdown by rounds is in the final answer on request, the same in call and stream', async t => {
  const asked = asking('s-call', ['rounds'])
  const answer = (await client.chat.completions.create({ ...asked, stream: false })) as ChatCompletion & Extras
  const chunks: ChatCompletionChunk[] = []
  const streamed = { ...asked, session_id: 's-stream', stream: true as const }
  for await (const chunk of await client.chat.completions.create(streamed)) chunks.push(chunk)
  const last = chunks.at(-1)
  t.strictSame(last?.choices, [])
  for (const loopgate of [answer.loopgate, last && told(last)]) {
    t.match(loopgate, { rounds: 3, finish: 'stop' })
    t.strictSame(
      loopgate?.round_list?.map(({ n, usage, calls }) => [
        n,
        usage.total_tokens,
        calls.map(call => `${call.tool} ${call.status}`).toSorted()
      ]),
      [
        [1, 11, ['toolSearchTool ok']],
        [2, 22, ['broken error', 'stock_level ok']],
        [3, 33, []]
      ]
    )
  }
  t.equal(answer.usage?.total_tokens, 66)
})
