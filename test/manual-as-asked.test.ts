import t from 'tap'
import { done, type Json, read, round, run, stock, turnId } from './helper/held-calls.ts'
import { type LoopTool, loopGateway, type ModelCall } from './helper/loop-gateway.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(180_000)

const weather: LoopTool = { definition: { description: 'Forecast of a city' }, answer: () => ({ body: '"sun"' }) }
const search: ModelCall = ['toolSearchTool', { query: 'forecast' }, 's1']
const guess: ModelCall = ['weather', {}, 'w1']
const says = ({ messages }: { messages: Json[] }) => messages.map(({ content }) => content)

t.test('what the request asked for holds when its calls are run: tools, search, one by one', async t => {
  const under: number[] = []
  let running = 0
  const slow: LoopTool = {
    answer: () => {
      under.push(++running)
      setTimeout(() => running--, 60)
      return { waitMs: 80, body: '"s"' }
    }
  }
  for (const mode of ['on', 'off'] as const) {
    const gateway = await loopGateway({ stock_level: stock, weather, slow }, { tool_search: { mode } })
    t.teardown(gateway.stop)
    const ran = async (calls: readonly ModelCall[], loopgate: object, more = {}) => {
      const first = await gateway.ask([round(1, { calls })], false, {
        body: { session_id: `s${Math.random()}`, loopgate: { tool_execution: 'manual', ...loopgate }, ...more }
      })
      return run(gateway.url, { turn_id: turnId(first) })
    }
    const noSearch = /^There is no tool named toolSearchTool. Available: stock_level, weather, slow/
    t.match(says(await ran([search, guess], { tool_search: 'off' })), [noSearch, '"sun"'], mode)
    const notFound = 'There is no tool named weather. Available: toolSearchTool.'
    t.strictSame(says(await ran([search, guess], { tool_search: 'on' })), ['["weather"]', notFound], mode)
    t.strictSame(
      says(await ran([search], { tool_search: 'on', tools: { deny: ['weather'] } })),
      ['[]'],
      'what the request left out is not found'
    )
    const look: ModelCall = ['stock_level', { sku: 'BX-1' }, 'l1']
    t.match(says(await ran([look, guess, search], { tool_search: 'off', tools: ['stock_level'] })), [
      '{"units":17}',
      ...['weather', 'toolSearchTool'].map(name => `There is no tool named ${name}. Available: stock_level`)
    ])

    const twice: readonly ModelCall[] = [
      ['slow', { i: 1 }, 'p1'],
      ['slow', { i: 2 }, 'p2']
    ]
    under.length = 0
    await ran(twice, { tool_search: 'off' }, { parallel_tool_calls: false })
    t.strictSame(under, [1, 1], 'one by one')
    await ran(twice, { tool_search: 'off' })
    t.strictSame(under, [1, 1, 1, 2])
  }
})

t.test('tokens that were spent, and results that fail a turn, count where the client has calls run', async t => {
  const fail: LoopTool = { answer: () => ({ status: 500 }) }
  const gateway = await loopGateway({ stock_level: stock, fail }, { loop: { fail_turn_on: ['tool_http_error'] } })
  t.teardown(gateway.stop)
  const asked = { tool_execution: 'manual', limits: { max_tokens: 5 } }
  const look = round(10, { calls: [['stock_level', { sku: 'BX-1' }, 'up_1']] })
  const first = await gateway.ask([look, done], false, { body: { session_id: 's1', loopgate: asked } })
  t.strictSame(says(await run(gateway.url, { turn_id: turnId(first) })), ['Limit reached: tokens.'])
  t.match(await read(gateway.url, `/v1/turns/${turnId(first)}`), {
    rounds: [{ calls: [{ status: 'refused', code: 'tool_limit' }] }]
  })

  const both = round(10, {
    calls: [
      ['fail', {}, 'up_1'],
      ['stock_level', { sku: 'BX-1' }, 'up_2']
    ]
  })
  const second = await gateway.ask([both], false, {
    body: { session_id: 's2', loopgate: { tool_execution: 'manual' } }
  })
  t.match(await run(gateway.url, { session_id: 's2' }), { status: 502, code: 'tool_failed' })
  t.match(await run(gateway.url, { session_id: 's2' }), { status: 409, code: 'call_not_open' }, 'nothing runs twice')
  t.match(await read(gateway.url, `/v1/turns/${turnId(second)}`), {
    rounds: [{ calls: [{ status: 'error', code: 'tool_http_error' }, { status: 'ok' }] }]
  })
})
