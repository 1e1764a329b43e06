import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import t from 'tap'
import { loopGateway } from './helper/loop-gateway.ts'

t.setTimeout(120_000)

type Json = ReturnType<typeof JSON.parse>

const slow = (waitMs: number) => ({ slow: { answer: () => ({ body: '"done"', waitMs }) } })
const inSession = { headers: { 'x-session-id': 's1' } }
const withCall = [{ calls: [['slow'] as const] }, { text: 'done' }]

t.test('64 clients on one session, with the retries of the SDK: every turn stands in it once, whole', async t => {
  const gateway = await loopGateway(slow(5), {
    providers: [{ name: 'sim', kind: 'sim', models: ['sim'] }],
    default_model: 'sim',
    tool_search: { mode: 'off' }
  })
  t.teardown(() => gateway.stop())
  const client = new OpenAI({ apiKey: 'x', baseURL: `${gateway.url}/v1`, maxRetries: 200, timeout: 60_000 })
  const answers = await Promise.all(
    Array.from({ length: 64 }, async (_, n) => {
      const messages = [{ role: 'user' as const, content: `Number ${n}.` }]
      const answer = await client.chat.completions.create({ model: 'sim', messages }, { headers: inSession.headers })
      return answer.choices[0]?.message.content ?? ''
    })
  )
  t.same(answers.toSorted(), Array.from({ length: 64 }, (_, n) => `You said: Number ${n}.`).toSorted())
  const transcript: Json[] = []
  for (let cursor = ''; cursor !== 'end'; ) {
    const url = `${gateway.url}/v1/sessions/s1/messages?limit=50${cursor && `&cursor=${cursor}`}`
    const page: Json = await (await fetch(url)).json()
    transcript.push(...page.data)
    cursor = page.next_cursor ?? 'end'
  }
  t.equal(transcript.length, 128)
  for (let at = 0; at < transcript.length; at += 2) {
    const [question, answer] = [transcript[at], transcript[at + 1]]
    t.match(question, { turn_id: answer.turn_id, message: { role: 'user' } })
    t.match(answer.message, { role: 'assistant', content: `You said: ${question.message.content}` })
  }
})

t.test('a second request of a session waits, and recalls the turn before it', async t => {
  const gateway = await loopGateway(slow(300))
  t.teardown(() => gateway.stop())
  for (const stream of [false, true]) {
    const headers = { 'x-session-id': `waits-${stream}` }
    const first = gateway.ask(withCall, stream, { headers })
    await sleep(150)
    const second = await gateway.ask([{ text: 'later' }], stream, { headers })
    t.equal(second.content, 'later')
    t.same(
      second.requests[0].messages.map(({ content }: { content: string }) => content),
      ['What is it?', 'done', 'What is it?']
    )
    t.equal((await first).content, 'done')
  }
})

t.test('other sessions, branches, reads and requests without a session do not wait', async t => {
  const gateway = await loopGateway(slow(1500))
  t.teardown(() => gateway.stop())
  const began = Date.now()
  const first = gateway.ask(withCall, false, inSession)
  await sleep(100)
  await gateway.ask([{ text: 'a' }], false, { headers: { 'x-session-id': 's2' } })
  await gateway.ask([{ text: 'b' }], true)
  await gateway.ask([{ text: 'c' }], false, { ...inSession, body: { loopgate: { memory: { branch: 'b1' } } } })
  t.equal((await fetch(`${gateway.url}/v1/sessions/s1`)).status, 200)
  t.ok(Date.now() - began < 1400)
  t.equal((await first).content, 'done')
})

t.test('session.concurrency: reject answers 409 at once, session.queue_ms after its time', async t => {
  for (const session of [{ concurrency: 'reject' }, { queue_ms: 100 }]) {
    const gateway = await loopGateway(slow(1500), { session })
    t.teardown(() => gateway.stop())
    const first = gateway.ask(withCall, false, inSession)
    await sleep(200)
    for (const stream of [false, true]) {
      const { status, headers, error, requests } = await gateway.ask([{ text: 'never' }], stream, inSession)
      t.match({ status, error }, { status: 409, error: { code: 'session_busy', type: 'conflict_error' } })
      t.match(Object.fromEntries(headers), { 'x-should-retry': 'true', 'retry-after': '1' })
      t.equal(requests.length, 0)
    }
    t.equal((await first).content, 'done')
    t.equal((await gateway.ask([{ text: 'now' }], false, inSession)).content, 'now')
  }
})

t.test(
  'two requests that bring the same result at once: one goes on, the other is told that nothing is open',
  async t => {
    const gateway = await loopGateway(slow(200))
    t.teardown(() => gateway.stop())
    const manual = { ...inSession, body: { loopgate: { tool_execution: 'manual' } } }
    await gateway.ask([{ calls: [['slow', {}, 'call_1']] }], false, manual)
    const messages = [{ role: 'tool', tool_call_id: 'call_1', content: 'mine' }]
    const both = await Promise.all([1, 2].map(() => gateway.ask(withCall, false, { ...inSession, body: { messages } })))
    t.same(both.map(({ status }) => status).toSorted(), [200, 400])
    t.equal(both.flatMap(({ called }) => called.filter((_, at) => at === 0)).length > 0, true)
  }
)

t.test('a client that leaves while it waits starts nothing', async t => {
  const gateway = await loopGateway(slow(600))
  t.teardown(() => gateway.stop())
  const first = gateway.ask(withCall, false, inSession)
  await sleep(100)
  const gone = new AbortController()
  const waiting = fetch(`${gateway.url}/v1/chat/completions`, {
    ...{ method: 'POST', signal: gone.signal, headers: { 'content-type': 'application/json', ...inSession.headers } },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'gone' }] })
  }).catch(() => 'left')
  await sleep(100)
  gone.abort()
  t.equal(await waiting, 'left')
  await first
  const next = await gateway.ask([{ text: 'next' }], false, inSession)
  t.notMatch(JSON.stringify(next.requests[0].messages), /gone/)
})
