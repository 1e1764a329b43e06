import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Gateway, startGateway } from '../src/cases/gateway.ts'
import { newSigningSecret } from '../src/egress/signing.ts'
import { framesOf } from './helper/edge.ts'
import { aRemoteAdvisor, type Decide } from './helper/remote.ts'
import { anEndpoint, answering } from './helper/webhook.ts'

// Starts processes, which takes a while on a busy machine.
t.setTimeout(120_000)

interface Declared {
  readonly url: string
  readonly secret: string
}

/** A gateway with a remote advisor in one of its lists. */
async function gateway(t: Test, place: 'turn' | 'call', advisor: Declared, more: object = {}, config: object = {}) {
  const { url, secret } = advisor
  const started = await startGateway({
    config: {
      default_model: 'sim-script',
      chain: {
        turn: ['audit', 'memory', ...(place === 'turn' ? ['check'] : [])],
        call: [...(place === 'call' ? ['check'] : []), 'tool-search', 'meter', 'retry']
      },
      advisors: [{ name: 'check', places: ['turn', 'call'], url, secret, egress_policy: 'internal', ...more }],
      ...config
    }
  })
  t.teardown(() => started.stop())
  return started
}

const usage = { prompt_tokens: 100, completion_tokens: 16, total_tokens: 116 }
const script = [{ text: 'There are 17 of the secret article.', usage }]

function ask({ url }: Gateway, body: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'How many?' }], loopgate: { script }, ...body }),
    ...(signal && { signal })
  })
}

const contentOf = (frames: ReturnType<typeof framesOf>) =>
  frames.map(frame => frame.choices?.[0]?.delta?.content ?? '').join('')

const decide: Decide = ({ type, data }) =>
  type === 'advisor.request'
    ? { usage: { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 } }
    : { message: { ...data.message, content: String(data.message?.content).replace('secret ', '') } }

for (const place of ['turn', 'call'] as const) {
  t.test(`in ${place}: call and stream say the same, and its own usage counts`, async t => {
    const server = await aRemoteAdvisor(t, decide)
    const started = await gateway(t, place, server)
    const called = await ask(started)
    t.equal(called.status, 200)
    const body = await called.json()
    t.match(body, {
      choices: [{ message: { content: 'There are 17 of the article.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 107, completion_tokens: 17, total_tokens: 124 }
    })
    const id = called.headers.get('x-loopgate-turn-id')
    const view = await (await fetch(`${started.url}/v1/turns/${id}`)).json()
    t.match(view, { usage: { total_tokens: 124 } })

    const streamed = await ask(started, { stream: true, stream_options: { include_usage: true } })
    const frames = framesOf(await streamed.text())
    t.equal(contentOf(frames), 'There are 17 of the article.')
    t.match(
      frames.find(frame => frame.usage),
      { usage: { total_tokens: 124 } }
    )
    t.strictSame(
      server.asked.map(({ type, data }) => `${type} ${data.round}`),
      Array.from({ length: 2 }, () => ['advisor.request', 'advisor.response'])
        .flat()
        .map(type => `${type} ${place === 'turn' ? 0 : 1}`)
    )
    t.notMatch(started.output(), /secret article|How many/, 'no text is logged')
  })
}

t.test('a refusal is 400 with its message and code, before the stream begins', async t => {
  const error = { code: 'pii', message: 'Leave out names.' }
  const server = await aRemoteAdvisor(t, () => ({ error }))
  const started = await gateway(t, 'turn', server, { on: ['request'] })
  for (const stream of [false, true]) {
    const refused = await ask(started, { stream })
    t.equal(refused.status, 400)
    t.match(await refused.json(), {
      error: { code: 'guardrail_blocked', type: 'invalid_request_error', message: 'Leave out names.', reason: 'pii' }
    })
  }
})

t.test('a stream is held until it has answered, and kept alive meanwhile', async t => {
  const said = Promise.withResolvers<void>()
  const server = await anEndpoint((response, request) => {
    said.promise.then(() => answering(204, '', '')(response, request, response.req))
  })
  t.teardown(() => server.close())
  const started = await gateway(
    ...([t, 'turn', { url: server.url, secret: newSigningSecret() }] as const),
    { on: ['response'], timeout_ms: 60_000 },
    { stream: { commit_ms: 20, keepalive_ms: 20 } }
  )
  const response = await ask(started, { stream: true })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while ((text.match(/^:/gm) ?? []).length < 3) text += (await reader?.read())?.value ?? ''
  t.notMatch(text, /There/, 'comments only')
  said.resolve()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  t.equal(contentOf(framesOf(text)), 'There are 17 of the secret article.')
})

t.test('when it fails: open says so in headers and body, closed is an error', async t => {
  const server = await anEndpoint(answering(500))
  t.teardown(() => server.close())
  const declared = { url: server.url, secret: newSigningSecret() }
  const open = await gateway(t, 'turn', declared)
  const called = await ask(open)
  t.equal(called.headers.get('x-loopgate-notes'), 'advisor_failed:check')
  t.match(await called.json(), {
    choices: [{ message: { content: 'There are 17 of the secret article.' } }],
    loopgate: { notes: ['advisor_failed:check'] }
  })
  const frames = framesOf(await (await ask(open, { stream: true })).text())
  t.match(
    frames.find(frame => frame.loopgate),
    { loopgate: { notes: ['advisor_failed:check'] } }
  )
  while (!open.output().includes('advisor.failed')) await sleep(10)
  const line =
    open
      .output()
      .split('\n')
      .find(each => each.includes('advisor.failed')) ?? '{}'
  t.match(JSON.parse(line), { advisor: 'check', phase: 'request', fault: 'status', what: 500 })
  t.notMatch(open.output(), /secret article|How many/)

  const closed = await gateway(t, 'call', declared, { fail: 'closed' })
  for (const stream of [false, true]) {
    const failed = await ask(closed, { stream })
    t.equal(failed.status, 502)
    t.match(await failed.json(), { error: { code: 'upstream_error', reason: 'advisor_failed' } })
  }
})

t.test('a client that leaves ends the exchange', async t => {
  const client = new AbortController()
  const server = await anEndpoint(() => client.abort())
  t.teardown(() => server.close())
  const started = await gateway(t, 'turn', { url: server.url, secret: newSigningSecret() }, { timeout_ms: 60_000 })
  await t.rejects(ask(started, {}, client.signal), { name: 'AbortError' })
  while (server.aborted() === 0) await sleep(10)
  while (!started.output().includes('"event":"turn.end"')) await sleep(10)
  t.match(started.output(), /"error":"client_closed"/)
  t.notMatch(started.output(), /advisor\.failed/)
})

t.test('a start with an advisor that is not right says which and where', async t => {
  const wrong = startGateway({
    config: {
      chain: { turn: ['audit', 'memory'], call: ['check', 'meter'] },
      advisors: [{ name: 'check', url: 'https://checks.example.com' }]
    }
  })
  const error = await wrong.then(
    ({ stop }) => stop(),
    (reason: Error & { output?: string }) => reason.output
  )
  t.match(error, /gateway\.yaml:\d+ chain\.call\[0\]: check belongs under turn/)
  t.match(error, /gateway\.yaml:\d+ advisors\[0\]\.secret: is missing/)
})
