import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { type Gateway, startGateway } from '../src/cases/gateway.ts'

/** What is promised is one second; the rest is for a machine that is busy with others. Nothing else ends so soon. */
const PROMISED_MS = 1000 + 9000

/** A server whose answers the test writes itself, and which says when a connection was cut from the other side. */
async function station(answer: (response: ServerResponse) => void) {
  const asked = Promise.withResolvers<void>()
  const cut = Promise.withResolvers<number>()
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    request.resume()
    response.on('error', () => {})
    response.on('close', () => !response.writableFinished && cut.resolve(performance.now()))
    request.on('end', () => {
      answer(response)
      asked.resolve()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A gateway that does not start must end the tests, not leave them waiting.
  server.unref()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, asked: asked.promise, cut: cut.promise, requests: () => requests, close }
}

const sse = (response: ServerResponse, ...frames: (object | string)[]) => {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of frames) response.write(`data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`)
}
const chunk = (delta: object, finish: string | null = null) => ({
  id: 'up',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'up',
  choices: [{ index: 0, delta, finish_reason: finish }]
})
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'slow_tool', arguments: '{}' } }

const half = (response: ServerResponse) => sse(response, chunk({ role: 'assistant', content: 'half ' }))
const mayEnd = Promise.withResolvers<void>()
const stations = {
  talking: await station(half),
  silent: await station(() => {}),
  mute: await station(() => {}),
  calling: await station(response => {
    sse(response, chunk({ role: 'assistant', tool_calls: [call] }), chunk({}, 'tool_calls'), '[DONE]')
    response.end()
  }),
  calling_too: await station(response => {
    sse(
      response,
      chunk({ role: 'assistant', tool_calls: [{ ...call, function: { ...call.function, name: 'slower_tool' } }] }),
      chunk({}, 'tool_calls'),
      '[DONE]'
    )
    response.end()
  }),
  breaking: await station(response => {
    half(response)
    response.end()
  }),
  lasting: await station(response => {
    half(response)
    void mayEnd.promise.then(() => {
      sse(response, chunk({ content: 'whole' }), chunk({}, 'stop'), '[DONE]')
      response.end()
    })
  }),
  slow_tool: await station(() => {}),
  slower_tool: await station(() => {})
}
const tool = (name: 'slow_tool' | 'slower_tool') => ({
  name,
  endpoint: { url: `${stations[name].url}/tool`, egress_policy: 'internal' }
})
// One process for all: a start costs more than all of these turns.
const gateway: Gateway = await startGateway({
  config: {
    default_model: 'silent/m',
    server: { drain_ms: 60_000 },
    providers: Object.entries(stations).map(([name, { url }]) => ({ name, kind: 'openai', base_url: `${url}/v1` })),
    retry: { max_retries: 0 },
    tools: [tool('slow_tool'), tool('slower_tool')]
  }
})
t.setTimeout(180_000)
t.teardown(async () => {
  await gateway.stop()
  for (const each of Object.values(stations)) each.close()
})

function ask(model: string, stream: boolean, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: `${model}/m`, stream, messages: [{ role: 'user', content: 'hello' }] }),
    ...(signal && { signal })
  })
}

/** The run of the last turn, once it is written. */
async function runOf(model: string): Promise<{ status: string; http_status: number }> {
  const id = new RegExp(`"event":"turn\\.end","request_id":"[^"]*","turn_id":"(turn_\\w+)"[^\n]*"model":"${model}/m"`)
  for (let tries = 0; tries < 600; tries++) {
    const turn = id.exec(gateway.output())?.[1]
    const response = turn && (await fetch(`${gateway.url}/v1/turns/${turn}`))
    if (response && response.status === 200) return response.json() as Promise<{ status: string; http_status: number }>
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the run was not written')
}

t.test('a client that leaves in the middle of a stream: the upstream is cut within a second', async t => {
  const client = new AbortController()
  const response = await ask('talking', true, client.signal)
  await response.body?.getReader().read()
  const leftAt = performance.now()
  client.abort()
  t.ok((await stations.talking.cut) - leftAt < PROMISED_MS)
  t.match(await runOf('talking'), { status: 'cancelled', http_status: 499 })
})

for (const [model, stream, mode] of [
  ['silent', true, 'before the first byte of a stream'],
  ['mute', false, 'a call without stream']
] as const) {
  t.test(`a client that leaves ${mode}: the upstream is cut within a second`, async t => {
    const client = new AbortController()
    const answer = ask(model, stream, client.signal)
    await stations[model].asked
    const leftAt = performance.now()
    client.abort()
    await t.rejects(answer)
    t.ok((await stations[model].cut) - leftAt < PROMISED_MS)
    t.match(await runOf(model), { status: 'cancelled', http_status: 499 })
  })
}

for (const [model, tool, stream] of [
  ['calling', 'slow_tool', true],
  ['calling_too', 'slower_tool', false]
] as const) {
  t.test(
    `a client that leaves while a tool runs (stream: ${stream}): the webhook is cut, no round follows`,
    async t => {
      const client = new AbortController()
      const answer = ask(model, stream, client.signal)
      await stations[tool].asked
      const leftAt = performance.now()
      client.abort()
      await t.rejects(answer)
      t.ok((await stations[tool].cut) - leftAt < PROMISED_MS)
      t.match(await runOf(model), { status: 'cancelled', http_status: 499 })
      t.equal(stations[model].requests(), 1)
      t.ok(gateway.isAlive())
    }
  )
}

t.test('an upstream that stops without an end is an error to the client, never a finished answer', async t => {
  const streamed = await (await ask('breaking', true)).text()
  t.match(streamed, /"content":"half "/)
  t.match(streamed, /data: \{"error":\{.*"code":"upstream_disconnected"/)
  t.notMatch(streamed, /\[DONE\]/)
  t.notMatch(streamed, /"finish_reason":"/)
  const called = await ask('breaking', false)
  t.equal(called.status, 502)
  t.match(await called.json(), { error: { code: 'upstream_disconnected' } })
})

t.test('running streams finish when the gateway is told to stop; new turns are refused', async t => {
  const response = await ask('lasting', true)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  const stopping = new Promise<void>(resolve => {
    const look = () => gateway.output().includes('server.stopping') && resolve()
    gateway.process.stdout?.on('data', look)
  })
  gateway.process.kill('SIGTERM')
  await stopping
  t.equal((await fetch(`${gateway.url}/readyz`)).status, 503)
  const refused = await ask('lasting', false)
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: { code: 'shutting_down' } })
  mayEnd.resolve()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  t.match(text, /whole[\s\S]*data: \[DONE\]/)
  if (gateway.isAlive()) await once(gateway.process, 'close')
  t.equal(gateway.process.exitCode, 0)
})
