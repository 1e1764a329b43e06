import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type LoopTool, loopGateway, type ModelRound } from './helper/loop-gateway.ts'

t.setTimeout(180_000)

const tool = (annotations: object, waitMs = 0): LoopTool => ({
  definition: { annotations },
  answer: () => ({ body: '{"done":true}', waitMs })
})
const tools = { pay: tool({ read_only: false }), look: tool({ read_only: true }) }
const retry = { headers: { 'x-stainless-retry-count': '1' } }
/** The body of a question is to be the same each time; its model is named by the helper after its number. */
const again = (model: string) => ({ model })

for (const stream of [false, true]) {
  const how = stream ? 'stream' : 'call'
  t.test(`${how}: a client that left and sends again has the turn go on, and no call runs twice`, async t => {
    const gateway = await loopGateway({ pay: tool({ read_only: false, destructive: false }, 500), look: tools.look })
    t.teardown(gateway.stop)
    const rounds: readonly ModelRound[] = [
      { calls: [['look', {}, 'c0']] },
      { calls: [['pay', { n: 1 }, 'c1']] },
      { text: 'Paid.' }
    ]
    const left = new AbortController()
    const gone = gateway.ask(rounds, stream, { signal: left.signal }).catch(() => 'left')
    while (gateway.calls().length < 2) await sleep(10)
    left.abort()
    t.equal(await gone, 'left')
    const next = await gateway.ask([], stream, { ...retry, body: again('up/m1') })
    t.match(next, { status: 200, content: 'Paid.' })
    t.strictSame(gateway.calls(), ['look {}', 'pay {"n":1}'])
    const results = next.requests.at(-1).messages.filter(({ role }: { role: string }) => role === 'tool')
    t.match(results, [{ content: '{"done":true}' }, { content: '{"done":true}' }], 'the late result was kept')
  })

  t.test(
    `${how}: after kill -9 a retry goes on: what may not run twice is unknown, the rest is called under the same id`,
    async t => {
      const ids: string[] = []
      const seen = (annotations: object): LoopTool => ({
        definition: { annotations },
        answer: (_, { data }) => {
          ids.push(`${data.call.tool} ${data.call.id}`)
          return { body: '{"done":true}', waitMs: ids.length <= 3 ? 60_000 : 0 }
        }
      })
      const gateway = await loopGateway({
        pay: seen({ read_only: false }),
        look: seen({ read_only: true }),
        set: seen({ idempotent: true })
      })
      t.teardown(gateway.stop)
      const calls = [
        ['pay', {}, 'c1'],
        ['look', {}, 'c2'],
        ['set', {}, 'c3']
      ] as const
      const gone = gateway
        .ask([{ calls }, { text: 'Done.' }], stream, { headers: { 'x-session-id': 's1' } })
        .catch(() => {})
      while (ids.length < 3) await sleep(10)
      await gateway.crash()
      await gone
      const after = await gateway.restart()
      t.teardown(after.stop)
      const headers = { ...retry.headers, 'x-session-id': 's1' }
      const next = await after.ask([], stream, { headers, body: again('up/m1') })
      t.match(next, { status: 200, content: 'Done.' })
      t.equal(ids.filter(id => id.startsWith('pay')).length, 1)
      for (const name of ['look', 'set']) {
        const [first, second, ...more] = ids.filter(id => id.startsWith(name))
        t.equal(first, second)
        t.strictSame(more, [])
      }
      const results = next.requests.at(-1).messages.filter(({ role }: { role: string }) => role === 'tool')
      t.match(results, [
        { tool_call_id: 'c1', content: /outcome is not known/ },
        { tool_call_id: 'c2', content: '{"done":true}' },
        { tool_call_id: 'c3', content: '{"done":true}' }
      ])
      const id = next.headers.get('x-loopgate-turn-id')
      t.match(await (await fetch(`${after.url}/v1/turns/${id}`)).json(), {
        status: 'completed',
        rounds: [{ n: 1 }, { n: 2 }]
      })
      const transcript = await (await fetch(`${after.url}/v1/sessions/s1/messages`)).json()
      const roles = (transcript as { data: { message: { role: string } }[] }).data.map(({ message }) => message.role)
      t.strictSame(roles, ['user', 'assistant', 'tool', 'tool', 'tool', 'assistant'])
    }
  )
}

t.test(
  'a turn that its process left is closed by the session’s next question: what it did stands in the transcript',
  async t => {
    const gateway = await loopGateway({ pay: tool({ read_only: false }, 60_000), look: tools.look })
    t.teardown(gateway.stop)
    const headers = { 'x-session-id': 's1' }
    const calls = [
      ['look', {}, 'c1'],
      ['pay', {}, 'c2']
    ] as const
    const gone = gateway.ask([{ calls }], false, { headers }).catch(() => {})
    while (gateway.calls().length < 2) await sleep(10)
    await sleep(200)
    await gateway.crash()
    await gone
    const after = await gateway.restart()
    t.teardown(after.stop)
    const next = await after.ask([{ text: 'Hello.' }], false, { headers })
    t.match(next, { content: 'Hello.', requests: [{ messages: [{ role: 'user' }] }] })
    t.equal(next.requests[0].messages.length, 1, 'a turn that failed is not recalled')
    const { data } = (await (await fetch(`${after.url}/v1/sessions/s1/messages`)).json()) as {
      data: { turn_id: string; turn_status: string; message: { role: string; content: string } }[]
    }
    t.match(
      data.map(({ turn_status, message }) => [turn_status, message.role, message.content]),
      [
        ['failed', 'user', 'What is it?'],
        ['failed', 'assistant', null],
        ['failed', 'tool', '{"done":true}'],
        ['failed', 'tool', /outcome is not known/],
        ['completed', 'user', 'What is it?'],
        ['completed', 'assistant', 'Hello.']
      ]
    )
    t.match(await (await fetch(`${after.url}/v1/turns/${data[0]?.turn_id}`)).json(), { status: 'failed' })
    const late = await after.ask([{ text: 'never' }], false, {
      headers: { ...retry.headers, ...headers },
      body: again('up/m1')
    })
    t.match(late, { status: 409, error: { code: 'turn_ended' }, requests: [] }, 'and a retry does not do it again')
    t.match(await (await fetch(`${after.url}/metrics`)).text(), /loopgate_tool_calls_unknown_total 1/)
  }
)

for (const memory of ['on', 'off']) {
  t.test(`memory ${memory}: a client that brings its result to a turn cut off by kill -9 has it go on`, async t => {
    let waitMs = 60_000
    const seen: string[] = []
    const gateway = await loopGateway({
      pay: {
        definition: { annotations: { read_only: false } },
        answer: ({ n }) => {
          seen.push(`pay ${n}`)
          return { body: '{"done":true}', waitMs: n === 2 ? waitMs : 0 }
        }
      }
    })
    t.teardown(gateway.stop)
    const own = { type: 'function', function: { name: 'open_door', parameters: { type: 'object' } } }
    const asked = { session_id: 'm1', tools: [own], loopgate: { memory } }
    const mixed = [['pay', { n: 1 }, 'c1'] as const, ['open_door', {}, 'c2'] as const]
    const first = await gateway.ask(
      [
        { calls: mixed },
        {
          calls: [
            ['pay', { n: 2 }, 'c3'],
            ['pay', { n: 3 }, 'c4']
          ]
        },
        { text: 'Done.' }
      ],
      false,
      { body: asked }
    )
    t.match(first, { finish: ['tool_calls'], calls: [{ id: 'c2' }] })
    const body = { ...asked, model: first.model, messages: [{ role: 'tool', tool_call_id: 'c2', content: 'opened' }] }
    const gone = gateway.ask([], false, { body }).catch(() => {})
    while (seen.length < 3) await sleep(10)
    await sleep(100)
    await gateway.crash()
    await gone
    waitMs = 0
    const after = await gateway.restart()
    t.teardown(after.stop)
    const next = await after.ask([], true, { ...retry, body })
    t.match(next, { status: 200, content: 'Done.', called: [] })
    t.strictSame(seen.toSorted(), ['pay 1', 'pay 2', 'pay 3'])
    const results = next.requests.at(-1).messages.filter(({ role }: { role: string }) => role === 'tool')
    t.match(results, [
      { tool_call_id: 'c1', content: '{"done":true}' },
      { tool_call_id: 'c2', content: 'opened' },
      { tool_call_id: 'c3', content: /outcome is not known/ },
      { tool_call_id: 'c4', content: '{"done":true}' }
    ])
    const id = next.headers.get('x-loopgate-turn-id')
    t.equal(id, first.headers.get('x-loopgate-turn-id'))
    const view = (await (await fetch(`${after.url}/v1/turns/${id}`)).json()) as { rounds: { n: number }[] }
    t.match(view, { status: 'completed' })
    t.strictSame(
      view.rounds.map(({ n }) => n),
      [1, 2, 3]
    )
    const again = await after.ask([{ text: 'Next.' }], false, { body: { session_id: 'm1' } })
    t.equal(again.content, 'Next.')
  })
}
