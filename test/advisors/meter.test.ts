import t from 'tap'
import { type MeterOptions, meter } from '../../src/advisors/meter.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import { advised, type Model } from '../../src/core/turn.ts'
import { aPolicy, aTurn, type Scripted, scripted } from '../helper/turn.ts'

const usage = { prompt: 100, completion: 10, total: 110 }
const limited = { policy: { ...aPolicy, limits: { ...aPolicy.limits, maxCostMicros: 1 } } }

/** Events of one model call by the meter; `model` is what an upstream was asked for. */
async function told(
  options: MeterOptions,
  {
    entry = { text: 'ok', usage },
    model = 'big-1',
    changes = {}
  }: { entry?: Scripted; model?: string; changes?: object }
): Promise<TurnEvent[]> {
  const turn = aTurn(changes)
  const script = scripted([entry])
  const answering: Model = async turn => {
    const attempt = { type: 'attempt', round: 0, provider: 'up', durationMs: 1, outcome: 'ok' } as const
    if (model !== '') turn.tell({ ...attempt, model })
    return script(turn)
  }
  await advised(answering, meter(options))(turn).catch(() => {})
  return turn.told.filter(({ type }) => type === 'usage' || type === 'note' || type === 'price.missing')
}

t.test('without prices nothing is said of costs, but that a limit cannot be kept', async t => {
  const [event, ...others] = await told({}, {})
  t.match(event, { type: 'usage', provider: 'up', model: 'big-1', usage })
  t.notOk(event && 'cost' in event)
  t.strictSame(others, [])
  t.match(await told({}, { changes: limited }), [{ type: 'note', note: 'price_missing:big-1' }, { type: 'usage' }])
})

t.test('the price is that of the model that answered, asked for by its own name and the client’s', async t => {
  const asked: unknown[] = []
  const priceOf: MeterOptions['priceOf'] = (...names) => {
    asked.push(names)
    return { prompt: 3, completion: 15 }
  }
  t.match(await told({ priceOf }, {}), [{ type: 'usage', cost: { micros: 450 } }])
  t.strictSame(asked, [['sim', { provider: 'up', model: 'big-1' }]])
})

t.test('a model without a price is free and told of; a note says so where there is a limit', async t => {
  const priceOf = () => undefined
  t.match(await told({ priceOf }, {}), [
    { type: 'price.missing', provider: 'up', model: 'big-1' },
    { type: 'usage', cost: { micros: 0 } }
  ])
  t.match(await told({ priceOf }, { changes: limited }), [
    { type: 'price.missing' },
    { type: 'note', note: 'price_missing:big-1' },
    { type: 'usage', cost: { micros: 0 } }
  ])
})

t.test('an answer for which no upstream was asked costs nothing', async t => {
  const priceOf = () => ({ prompt: 3, completion: 15 })
  t.match(await told({ priceOf }, { model: '', changes: limited }), [{ type: 'usage', cost: { micros: 0 } }])
})

t.test('what is estimated is charged, and what had come of a stream that broke off', async t => {
  const priceOf = () => ({ prompt: 1, completion: 1 })
  const whole = await told({ priceOf }, { entry: { text: 'x'.repeat(40) } })
  t.match(whole, [{ type: 'usage', estimated: true, usage: { completion: 10 }, cost: { ofKind: { completion: 10 } } }])
  const broken = { text: 'x'.repeat(40), error: new Error('gone'), errorAfter: 20 }
  const emit = () => undefined
  t.match(await told({ priceOf }, { entry: broken, changes: { emit } }), [
    { type: 'usage', estimated: true, usage: { completion: 5 }, cost: { ofKind: { completion: 5 } } }
  ])
})
