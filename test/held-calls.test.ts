import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import {
  callsOf,
  clientTool,
  done,
  manual,
  mixed,
  read,
  round,
  run,
  shown,
  stock,
  turnId,
  usage
} from './helper/held-calls.ts'
import { loopGateway } from './helper/loop-gateway.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(180_000)

t.test('a mixed batch in a session: the results that come back are joined with the gateway’s own', async t => {
  const gateway = await loopGateway({ stock_level: stock })
  t.teardown(gateway.stop)
  for (const [at, stream] of [false, true].entries()) {
    const session_id = `s${at}`
    const first = await gateway.ask([mixed], stream, { body: { session_id, tools: [clientTool] } })
    t.strictSame(first.finish, ['tool_calls'])
    t.match(callsOf(first), [{ id: 'up_2', function: { name: 'open_page', arguments: '{"url":"a"}' } }])
    t.equal(callsOf(first).length, 1, 'the client gets its own call only')
    t.strictSame(first.called.toSorted(), ['stock_level {"sku":"BX-1"}', 'stock_level {"sku":"BX-2"}'])
    t.match(await read(gateway.url, `/v1/turns/${turnId(first)}`), {
      ...{ status: 'awaiting_client', finish: 'client_calls', usage: usage(10) },
      rounds: [{ calls: [{ status: 'ok' }, { id: 'up_2', status: 'open', is_error: false }, { status: 'ok' }] }]
    })

    const messages = [{ role: 'tool', tool_call_id: 'up_2', content: 'opened' }]
    const second = await gateway.ask([done], stream, { body: { session_id, tools: [clientTool], messages } })
    t.equal(second.content, 'Done.')
    t.strictSame(shown(second), [
      'user: What is it?',
      'calls up_1 up_2 up_3',
      'up_1 = {"units":17}',
      'up_2 = opened',
      'up_3 = {"units":4}'
    ])
    t.match(second.usage.at(-1), usage(20), 'each answer reports its own rounds')
    t.equal(turnId(second), turnId(first), 'and yet it is one turn')
    t.match(await read(gateway.url, `/v1/turns/${turnId(first)}`), {
      ...{ status: 'completed', finish: 'stop', usage: { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 } },
      rounds: [
        { n: 1, calls: [{ status: 'ok' }, { status: 'ok' }, { status: 'ok' }] },
        { n: 2, calls: [] }
      ]
    })
    t.match(await read(gateway.url, `/v1/sessions/${session_id}`), { turns: 1, status: 'idle' })
  }
})

t.test('without a session the turn is found by its call ids, and nothing of it is kept once it is over', async t => {
  const gateway = await loopGateway({ stock_level: stock })
  t.teardown(gateway.stop)
  for (const stream of [false, true]) {
    const look = round(5, { calls: [['stock_level', { sku: 'BX-9' }, 'up_0']] })
    const first = await gateway.ask([look, mixed], stream, { body: { tools: [clientTool] } })
    const [call] = callsOf(first)
    t.match(call.id, /^call_[0-9A-Z]{26}$/)
    t.match(first.usage.at(-1), { prompt_tokens: 15 })
    const session = first.headers.get('x-session-id') ?? ''
    t.match(await read(gateway.url, `/v1/sessions/${session}`), { status: 'awaiting_client', turns: 1 })

    const again = round(20, {
      calls: [
        ['open_page', {}, 'up_2'],
        ['stock_level', { sku: 'BX-1' }, 'up_4']
      ]
    })
    const said = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is it?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'opened' }
    ]
    const second = await gateway.ask([again], stream, { body: { tools: [clientTool], messages: said } })
    t.equal(second.headers.get('x-session-id'), session)
    const [replayed] = [shown(second).slice(4, 8)]
    t.match(shown(second).slice(0, 4), ['system: Be brief.', 'user: What is it?', 'calls up_0', 'up_0 = {"units":4}'])
    t.equal(replayed?.filter(line => line.endsWith('opened')).length, 1)
    t.equal(replayed?.[2], `${call.id} = opened`, 'in the order of the calls')
    const [next] = callsOf(second)
    t.match(next.id, /^call_[0-9A-Z]{26}$/)
    const more = [
      ...said,
      { role: 'assistant', content: null, tool_calls: [next] },
      { role: 'tool', tool_call_id: next.id, content: 'opened too' }
    ]
    const third = await gateway.ask([done], stream, { body: { tools: [clientTool], messages: more } })
    t.equal(third.content, 'Done.')
    t.equal(shown(third).filter(line => line.endsWith('opened') || line.endsWith('opened too')).length, 2)
    t.equal(turnId(third), turnId(first))
    t.equal((await read(gateway.url, `/v1/turns/${turnId(first)}`)).rounds.length, 4)
    t.match(await read(gateway.url, `/v1/sessions/${session}`), { status: 'idle', turns: 0 })
    t.strictSame((await read(gateway.url, `/v1/sessions/${session}/messages`)).data, [])
  }
})

t.test('a gateway that was cut off between the requests goes on, for any client process', async t => {
  const folder = t.testdir()
  const config = {
    store: { path: join(folder, 'a.db') },
    secrets: { key_file: join(folder, 'kek') },
    memory: { mode: 'off' }
  }
  const before = await loopGateway({ stock_level: stock }, config)
  t.teardown(before.stop)
  const first = await before.ask([mixed], true, { body: { tools: [clientTool] } })
  const held = await before.ask([mixed], false, { body: { session_id: 's1', ...manual, tools: [clientTool] } })
  await before.crash()

  const after = await loopGateway({ stock_level: stock }, config)
  t.teardown(after.stop)
  const [call] = callsOf(first)
  const messages = [
    { role: 'user', content: 'What is it?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: 'opened' }
  ]
  const second = await after.ask([done], false, { body: { tools: [clientTool], messages } })
  t.equal(second.content, 'Done.')
  t.equal(shown(second).length, 5)
  t.strictSame(second.called, [], 'what ran before does not run again')

  const ran = await run(after.url, { turn_id: turnId(held), calls: ['up_3', 'up_1'] })
  t.match(ran, { status: 200, messages: [{ tool_call_id: 'up_1' }, { tool_call_id: 'up_3', content: '{"units":4}' }] })
  const last = await after.ask([done], true, { body: { session_id: 's1', messages: [], tools: [clientTool] } })
  t.strictSame(shown(last).slice(2), ['up_1 = {"units":17}', 'up_2 = (not answered)', 'up_3 = {"units":4}'])
})

t.test('the official SDK goes on with a mixed batch, and runs a manual one, over streams', async t => {
  const gateway = await loopGateway({ stock_level: stock })
  t.teardown(gateway.stop)
  const script = [mixed, done]
  const first = await gateway.ask(script, true, { body: { tools: [clientTool], session_id: 'sdk' } })
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any', maxRetries: 0 })
  const [call] = callsOf(first)
  const stream = client.chat.completions.stream({
    model: first.requests[0].model.replace(/^/, 'up/'),
    tools: [clientTool as OpenAI.ChatCompletionTool],
    messages: [{ role: 'tool', tool_call_id: call.id, content: 'opened' }],
    ...{ session_id: 'sdk' }
  })
  t.equal((await stream.finalChatCompletion()).choices[0]?.message.content, 'Done.')
})

t.test(
  'of two requests at once that go on from the same calls one is answered; then nothing is open for the other',
  async t => {
    const gateway = await loopGateway({ stock_level: stock })
    t.teardown(gateway.stop)
    for (const memory of ['on', 'off']) {
      const body = { session_id: `at-once-${memory}`, tools: [clientTool], loopgate: { memory } }
      await gateway.ask([mixed], false, { body })
      const messages = [{ role: 'tool', tool_call_id: 'up_2', content: 'opened' }]
      const ends = await Promise.all([1, 2].map(() => gateway.ask([done], false, { body: { ...body, messages } })))
      t.strictSame(ends.map(({ status }) => status).sort(), [200, 400])
      t.match(ends.find(({ status }) => status === 400)?.error, { param: 'messages[0].tool_call_id' })
    }
  }
)
