import t from 'tap'
import { read, round, stock, turnId } from './helper/held-calls.ts'
import { loopGateway } from './helper/loop-gateway.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(180_000)

const calls = round(10, { calls: [['stock_level', { sku: 'BX-1' }]] })
const end = round(20, { text: 'Done.' })
const price = { prompt: 10, completion: 100 }
const overrides = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`up/m${i + 1}`, price]))

t.test('what a turn costs is told, and ends it where the limit is reached', async t => {
  const gateway = await loopGateway({ stock_level: stock }, { prices: { overrides }, limits: { max_cost_usd: 1 } })
  t.teardown(gateway.stop)
  for (const stream of [false, true]) {
    const answer = await gateway.ask([calls, end], stream)
    t.equal(answer.loopgate.cost_usd, 0.0005, 'two rounds: 200 and 300 micro-dollars')
    t.equal(answer.headers.get('x-loopgate-cost-usd'), stream ? null : '0.0005')
    t.match(await read(gateway.url, `/v1/turns/${turnId(answer)}`), { cost_usd: 0.0005 })

    const body = { loopgate: { limits: { max_cost_usd: 0.0002 } } }
    const limited = await gateway.ask([calls, end], stream, { body })
    t.equal(limited.content, 'Limit reached: cost.')
    t.strictSame(limited.finish, ['length'])
    t.strictSame(limited.called, [], 'checked before the batch')
    t.match(limited.loopgate, { finish: 'cost_limit', cost_usd: 0.0002, limit: { kind: 'max_cost_usd', max: 0.0002 } })
  }
})

t.test('without prices there is no cost', async t => {
  const gateway = await loopGateway({ stock_level: stock })
  t.teardown(gateway.stop)
  const answer = await gateway.ask([calls, end])
  t.notOk('cost_usd' in answer.loopgate)
  t.equal(answer.headers.get('x-loopgate-cost-usd'), null)
  t.notOk('cost_usd' in (await read(gateway.url, `/v1/turns/${turnId(answer)}`)))
})
