import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import t from 'tap'
import { type LoopTool, loopGateway, type ModelRound } from './helper/loop-gateway.ts'

t.setTimeout(180_000)

const tool = (annotations: object, waitMs = 0): LoopTool => ({
  definition: { annotations },
  answer: () => ({ body: '{"done":true}', waitMs })
})
const tools = { pay: tool({ read_only: false }), look: tool({ read_only: true }) }
const pays: readonly ModelRound[] = [
  { calls: [['pay', { n: 1 }, 'c1']], usage: [1, 1, 2] },
  { text: 'Paid.', usage: [2, 2, 4] }
]
const key = (name: string) => ({ headers: { 'idempotency-key': name } })
const retry = { headers: { 'x-stainless-retry-count': '1' } }
/** The body of a question is to be the same each time; its model is named by the helper after its number. */
const again = (model: string) => ({ model })

t.test('the same key gives the same answer, as a call or a stream, and nothing runs again', async t => {
  const gateway = await loopGateway(tools)
  t.teardown(gateway.stop)
  const first = await gateway.ask(pays, false, key('k1'))
  t.match(first, { status: 200, content: 'Paid.', called: ['pay {"n":1}'] })
  t.notOk(first.headers.has('x-loopgate-replayed'))
  const body = again(first.model)
  for (const stream of [false, true]) {
    const replayed = await gateway.ask([{ text: 'never' }], stream, { ...key('k1'), body })
    t.match(replayed, { status: 200, content: 'Paid.', finish: ['stop'], called: [], requests: [] })
    t.equal(replayed.headers.get('x-loopgate-replayed'), 'true')
    t.equal(replayed.headers.get('x-loopgate-turn-id'), first.headers.get('x-loopgate-turn-id'))
    t.match(replayed.usage, [{ prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 }])
    if (!stream) {
      t.equal(replayed.headers.get('x-loopgate-rounds'), '2')
      t.equal(replayed.headers.get('x-loopgate-tool-calls'), '1')
      t.strictSame(replayed.loopgate, first.loopgate)
    }
  }
  const other = await gateway.ask(pays, false, { ...key('k1'), body: { ...body, temperature: 1 } })
  t.match(other, { status: 422, error: { code: 'idempotency_mismatch' }, called: [] })
  const elsewhere = { headers: { ...key('k1').headers, 'x-session-id': 'other' }, body }
  t.match(await gateway.ask(pays, false, elsewhere), {
    status: 422,
    error: { code: 'idempotency_mismatch' },
    called: []
  })
  const long = await gateway.ask(pays, false, key('k'.repeat(256)))
  t.match(long, { status: 400, error: { param: 'idempotency-key' } })
})

t.test('a key holds for turns without tools too, and through a restart', async t => {
  const gateway = await loopGateway(tools)
  t.teardown(gateway.stop)
  const plain = await gateway.ask([{ text: 'Hello.' }], false, key('p1'))
  const paid = await gateway.ask(pays, true, key('p2'))
  await gateway.crash()
  const after = await gateway.restart()
  t.teardown(after.stop)
  t.match(await after.ask([], false, { ...key('p1'), body: again(plain.model) }), { content: 'Hello.', requests: [] })
  t.match(await after.ask([], true, { ...key('p2'), body: again(paid.model) }), { content: 'Paid.', called: [] })
})

t.test('a request with the key of a turn that runs waits for it, in call and stream', async t => {
  const gateway = await loopGateway({ pay: tool({ read_only: false }, 600) })
  t.teardown(gateway.stop)
  const first = gateway.ask(pays, true, key('w1'))
  await sleep(200)
  const body = again('up/m1')
  const waiting = [false, true].map(stream => gateway.ask([], stream, { ...key('w1'), body }))
  const other = await gateway.ask([], false, { ...key('w1'), body: { ...body, temperature: 1 } })
  t.equal(other.error.code, 'idempotency_mismatch')
  t.match(await first, { content: 'Paid.', called: ['pay {"n":1}'] })
  for (const each of await Promise.all(waiting)) t.match(each, { content: 'Paid.', requests: [] })
})

t.test('a turn that takes longer than a request may wait is 409 idempotency_in_progress', async t => {
  const gateway = await loopGateway({ pay: tool({ read_only: false }, 1500) }, { session: { queue_ms: 100 } })
  t.teardown(gateway.stop)
  const first = gateway.ask(pays, false, key('w2'))
  await sleep(300)
  const early = await gateway.ask([], false, { ...key('w2'), body: again('up/m1') })
  t.match(early, { status: 409, error: { code: 'idempotency_in_progress' } })
  t.match(Object.fromEntries(early.headers), { 'x-should-retry': 'true', 'retry-after': '1' })
  await first
})

t.test('an error before any tool ran is not kept; one after a tool ran is given again, not to be retried', async t => {
  const gateway = await loopGateway(tools, { retry: { max_retries: 0 } })
  t.teardown(gateway.stop)
  const early = await gateway.ask([{ status: 502 }], false, key('e1'))
  t.match(early, { status: 502, called: [] })
  t.not(early.headers.get('x-should-retry'), 'false')
  t.match(await gateway.ask([{ text: 'Now.' }], false, { ...key('e1'), body: again(early.model) }), { content: 'Now.' })

  const paysThenFails: readonly ModelRound[] = [...pays.slice(0, 1), { status: 502 }]
  const late = await gateway.ask(paysThenFails, false, key('e2'))
  t.match(late, { status: 502, called: ['pay {"n":1}'], error: { code: 'upstream_error' } })
  for (const [stream, headers] of [
    [false, key('e2').headers],
    [true, key('e2').headers],
    [false, retry.headers],
    [true, retry.headers]
  ] as const) {
    const repeated = await gateway.ask([{ text: 'never' }], stream, { headers, body: again(late.model) })
    t.match(repeated, { status: 502, called: [], requests: [], error: late.error })
    t.equal(repeated.headers.get('x-should-retry'), 'false')
  }
})

t.test('what an SDK sends again is the same turn only where a tool ran and its answer did not come', async t => {
  const gateway = await loopGateway(tools)
  t.teardown(gateway.stop)
  const whole = await gateway.ask(pays)
  await sleep(200)
  const asked = await gateway.ask(pays, false, { ...retry, body: again(whole.model) })
  t.match(asked, { status: 200, requests: [{}, {}] }, 'a turn that was delivered whole is not given again')
  const plain = await gateway.ask([{ text: 'a' }])
  t.match(await gateway.ask([{ text: 'b' }], false, { ...retry, body: again(plain.model) }), { content: 'b' })
  const first = await gateway.ask(pays)
  t.match(
    await gateway.ask(pays, false, { body: again(first.model) }),
    { called: ['pay {"n":1}'] },
    'who asks twice means it'
  )
})

t.test(
  '200 turns whose model fails with 502 after a tool ran, behind the official SDK: each tool ran once',
  async t => {
    const paid = new Map<number, number>()
    const gateway = await loopGateway(
      {
        pay: {
          definition: { annotations: { read_only: false } },
          answer: ({ n }) => {
            paid.set(n, (paid.get(n) ?? 0) + 1)
            return { body: '"paid"' }
          }
        }
      },
      { retry: { max_retries: 0 } }
    )
    t.teardown(gateway.stop)
    const client = new OpenAI({ apiKey: 'x', baseURL: `${gateway.url}/v1` })
    const turn = async (n: number) => {
      const model = gateway.script([{ calls: [['pay', { n }]] }, ...Array(5).fill({ status: 502 })])
      const asked = { model, messages: [{ role: 'user' as const, content: `Pay ${n}.` }] }
      const answer =
        n % 2 === 0 ? client.chat.completions.create(asked) : client.chat.completions.create({ ...asked, stream: true })
      return answer.then(
        () => 'answered',
        error => error.status
      )
    }
    const ends: unknown[] = []
    for (let n = 0; n < 200; n += 20) {
      ends.push(...(await Promise.all(Array.from({ length: 20 }, (_, at) => turn(n + at)))))
    }
    t.strictSame(new Set(ends), new Set([502]))
    t.equal(paid.size, 200)
    t.strictSame(new Set(paid.values()), new Set([1]))
  }
)

t.test('a key and a turn that waits for its client: the same calls again, and the client may go on once', async t => {
  const gateway = await loopGateway(tools)
  t.teardown(gateway.stop)
  const asked = { session_id: 'k2', loopgate: { tool_execution: 'manual' } }
  const first = await gateway.ask([{ calls: [['pay', {}, 'c1']] }, { text: 'Done.' }], false, {
    ...key('m1'),
    body: asked
  })
  const body = { ...asked, model: first.model }
  for (const stream of [false, true]) {
    const same = await gateway.ask([], stream, { ...key('m1'), body })
    t.match(same, { finish: ['tool_calls'], calls: [{ id: 'c1', function: { name: 'pay' } }], requests: [] })
  }
  const messages = [{ role: 'tool', tool_call_id: 'c1', content: 'paid by hand' }]
  const next = await gateway.ask([], false, { ...key('m2'), body: { ...body, messages } })
  t.equal(next.content, 'Done.')
  t.match(await gateway.ask([], true, { ...key('m2'), body: { ...body, messages } }), {
    content: 'Done.',
    requests: []
  })
  t.match(await gateway.ask([], false, { ...key('m1'), body }), { finish: ['tool_calls'], requests: [] })
})

t.test('a key and a stream that can be read on: one turn, and its frames', async t => {
  const gateway = await loopGateway(tools)
  t.teardown(gateway.stop)
  const body = { loopgate: { resumable: true } }
  const first = await gateway.ask(pays, true, { ...key('r1'), body })
  const id = first.headers.get('x-loopgate-turn-id')
  const replayed = await gateway.ask([], true, { ...key('r1'), body: { ...body, model: first.model } })
  t.match(replayed, { content: 'Paid.', requests: [] })
  const frames = await (await fetch(`${gateway.url}/v1/turns/${id}/events`)).text()
  t.match(frames, /^id: turn_\w+:1\n/)
  t.match(frames, /data: \[DONE\]\n\n$/)
})
