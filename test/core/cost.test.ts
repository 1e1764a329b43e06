import t from 'tap'
import type { Usage } from '../../src/core/chat.ts'
import { costOf, type Price } from '../../src/core/cost.ts'

const usage = (prompt: number, completion: number, more: Partial<Usage> = {}): Usage => ({
  ...{ prompt, completion, total: prompt + completion },
  ...more
})
const micros = (used: Usage, price: Price) => costOf(used, price).micros

t.test('dollars per million tokens are micro-dollars per token', async t => {
  t.equal(micros(usage(1_000_000, 0), { prompt: 0.25, completion: 2 }), 250_000)
  t.equal(micros(usage(0, 1_000_000), { prompt: 0.25, completion: 2 }), 2_000_000)
  t.equal(micros(usage(100, 10), { prompt: 3, completion: 15 }), 450)
  t.equal(micros(usage(0, 0), { prompt: 3, completion: 15 }), 0)
  t.equal(micros(usage(100, 10), { prompt: 0, completion: 0 }), 0)
})

t.test('a call is rounded up to the next micro-dollar, once', async t => {
  t.equal(micros(usage(1, 0), { prompt: 0.1, completion: 0 }), 1)
  t.equal(micros(usage(1, 1), { prompt: 0.1, completion: 0.2 }), 1, 'not once a kind')
  t.equal(micros(usage(3, 0), { prompt: 0.1, completion: 0 }), 1)
  t.equal(micros(usage(10, 0), { prompt: 0.1, completion: 0 }), 1)
  t.equal(micros(usage(11, 0), { prompt: 0.1, completion: 0 }), 2)
  t.equal(micros(usage(100, 0), { prompt: 0.07, completion: 0 }), 7, 'exactly 7, which 100 × 0.07 is not in floats')
  t.equal(micros(usage(1, 2), { prompt: 0.1, completion: 0.45 }), 1, 'exactly 1')
  t.equal(micros(usage(1, 0), { prompt: 0.000001, completion: 0 }), 1, 'the finest price')
})

t.test('cached tokens are a part of the prompt, and charged apart where there is a price for them', async t => {
  const used = usage(100, 10, { cached: 60, cacheWrite: 30, reasoning: 8 })
  const plain = { prompt: 2, completion: 10 }
  t.equal(micros(used, plain), 300, 'reasoning is in the completion')
  t.strictSame(costOf(used, { ...plain, cached: 0.5 }), {
    micros: 80 + 100 + 30,
    ofKind: { prompt: 80, completion: 100, cached: 30, cacheWrite: 0 }
  })
  t.strictSame(costOf(used, { ...plain, cached: 0, cacheWrite: 3 }), {
    micros: 20 + 100 + 90,
    ofKind: { prompt: 20, completion: 100, cached: 0, cacheWrite: 90 }
  })
  t.equal(micros(usage(10, 0, { cached: 60 }), { ...plain, cached: 1 }), 60, 'a prompt is never less than nothing')
})

t.test('the kinds add up to the whole, whatever was rounded', async t => {
  for (let n = 1; n < 60; n++) {
    const used = usage(n * 7, n * 3, { cached: n * 2, cacheWrite: n })
    const { micros, ofKind } = costOf(used, { prompt: 0.13, completion: 0.37, cached: 0.011, cacheWrite: 0.171 })
    const sum = Object.values(ofKind).reduce((all, each) => all + each, 0)
    t.equal(sum, micros)
    t.equal(micros, Math.ceil((n * 4 * 130 + n * 3 * 370 + n * 2 * 11 + n * 171) / 1000))
  }
})

t.test('counts that are none cost nothing', async t => {
  t.equal(micros(usage(Number.NaN, Number.POSITIVE_INFINITY), { prompt: 1, completion: 1 }), 0)
  t.equal(micros(usage(10.4, 0), { prompt: 1, completion: 1 }), 10)
  t.equal(micros(usage(2 ** 52, 0), { prompt: 1, completion: 1 }), 2 ** 52)
})
