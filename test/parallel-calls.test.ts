import type { ServerResponse } from 'node:http'
import t from 'tap'
import { startGateway } from '../src/cases/gateway.ts'
import { framesOf } from './helper/edge.ts'
import { jsonServer } from './helper/json-server.ts'

const CALLS = 8
/** Long enough for all calls to arrive on a busy machine; who is not there by then does not come. */
const PATIENCE_MS = 10_000
/** Of calls that must stand alone: each is held for so long that another beside it would be seen. */
const HELD_MS = 25

interface Open {
  readonly n: number
  readonly response: ServerResponse
}

/** What the tools saw: calls that are open, how many there were at once, their order, and that of the answers. */
const seen = { open: [] as Open[], most: 0, order: [] as number[], answered: [] as number[] }
/** Must the calls of this batch stand alone? */
let alone = false
let patience: NodeJS.Timeout | undefined

/** The tools. Calls that may run together wait for one another, and are then answered last first. */
const tools = await jsonServer((body, response) => {
  const { n } = body.data.call.arguments
  seen.open.push({ n, response })
  seen.order.push(n)
  seen.most = Math.max(seen.most, seen.open.length)
  clearTimeout(patience)
  if (seen.open.length === CALLS) answerAll()
  else patience = setTimeout(answerAll, alone ? HELD_MS : PATIENCE_MS)
})

function answerAll(): void {
  clearTimeout(patience)
  for (const { n, response } of seen.open.splice(0).reverse()) {
    seen.answered.push(n)
    response.setHeader('content-type', 'application/json')
    response.end(`{"n":${n}}`)
  }
}

/** The model: calls the tools that the question names, in order, then says what it was shown of them. */
const upstream = await jsonServer((body, response) => {
  const results = body.messages.filter(({ role }: { role: string }) => role === 'tool')
  const names = body.messages.find(({ role }: { role: string }) => role === 'user').content.split(' ')
  const tool_calls = names.map((name: string, n: number) => ({
    index: n,
    id: `call_${n}`,
    type: 'function',
    function: { name, arguments: `{"n":${n}}` }
  }))
  const said = results.map((each: Record<string, string>) => `${each.tool_call_id}=${each.content}`).join(' ')
  const message = { role: 'assistant', ...(results.length === 0 ? { tool_calls } : { content: said }) }
  const finish_reason = results.length === 0 ? 'tool_calls' : 'stop'
  const head = { id: 'up', created: 1, model: 'm' }
  if (body.stream) {
    response.setHeader('content-type', 'text/event-stream')
    response.write(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: message, finish_reason }] })}\n\n`)
    response.end('data: [DONE]\n\n')
  } else {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason }] }))
  }
})

const tool = (name: string, more: object) => ({
  name,
  input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
  endpoint: { url: `${tools.url}/${name}`, egress_policy: 'internal' },
  ...more
})
const gateway = await startGateway({
  config: {
    default_model: 'up/m',
    providers: [{ name: 'up', kind: 'openai', base_url: `${upstream.url}/v1` }],
    tools: [tool('together', {}), tool('by_itself', { sequential: true })],
    tool_search: { mode: 'off' }
  }
})
t.setTimeout(180_000)
t.teardown(async () => {
  await gateway.stop()
  tools.close()
  upstream.close()
})

/** Asks for a batch of calls, a name each; what the client was told, and what the tools saw. */
async function ask(names: readonly string[], stream: boolean, more: object = {}) {
  Object.assign(seen, { open: [], most: 0, order: [], answered: [] })
  alone = 'parallel_tool_calls' in more || names.includes('by_itself')
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream, messages: [{ role: 'user', content: names.join(' ') }], ...more })
  })
  const text = await response.text()
  const content = stream
    ? framesOf(text)
        .map(frame => frame.choices?.[0]?.delta.content ?? '')
        .join('')
    : JSON.parse(text).choices[0].message.content
  return { content, most: seen.most, order: [...seen.order], answered: [...seen.answered] }
}

const eight = (name: string) => Array.from({ length: CALLS }, () => name)
const inOrder = [...Array(CALLS).keys()]
const ALL = inOrder.map(n => `call_${n}={"n":${n}}`).join(' ')

for (const stream of [false, true]) {
  const mode = stream ? 'stream' : 'call'

  t.test(`${mode}: eight calls of a batch are open at once, and their results stand in call order`, async t => {
    const { content, most, order, answered } = await ask(eight('together'), stream)
    t.equal(most, CALLS)
    t.strictSame(answered, order.toReversed(), 'who came last was answered first')
    t.equal(content, ALL)
  })

  t.test(`${mode}: of a sequential tool never two calls are open, and they run in call order`, async t => {
    const { content, most, order } = await ask(eight('by_itself'), stream)
    t.equal(most, 1)
    t.strictSame(order, inOrder)
    t.equal(content, ALL)
  })

  t.test(`${mode}: a sequential tool has no call of another tool beside it`, async t => {
    const names = inOrder.map(n => (n % 2 === 0 ? 'together' : 'by_itself'))
    const { content, most, order } = await ask(names, stream)
    t.equal(most, 1)
    t.strictSame(order, inOrder)
    t.equal(content, ALL)
  })

  t.test(`${mode}: with parallel_tool_calls: false never two calls are open, whatever the tool`, async t => {
    const { content, most, order } = await ask(eight('together'), stream, { parallel_tool_calls: false })
    t.equal(most, 1)
    t.strictSame(order, inOrder)
    t.equal(content, ALL)
  })
}
