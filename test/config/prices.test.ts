import t, { type Test } from 'tap'
import { buildPrices } from '../../src/config/build-prices.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { readConfig } from '../../src/config/read.ts'

const UP = 'providers: [{ name: up, kind: openai, models: ["*"] }]\ndefault_model: m\n'

const read = (t: Test, text: string, files: Record<string, string> = {}) =>
  readConfig({ cwd: t.testdir({ 'gateway.yaml': UP + text, ...files }), env: {}, server: {} }).config

function problems(t: Test, text: string, files?: Record<string, string>): readonly string[] {
  try {
    read(t, text, files)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

t.test('no price is built in: without any there are none to ask', async t => {
  t.equal(buildPrices(read(t, '')), undefined)
  t.equal(buildPrices(read(t, 'models: [{ name: fast, targets: [{ provider: up, model: m }] }]')), undefined)
})

t.test('a price is found by provider and model, else by model; an alias may have its own', async t => {
  const priceOf = buildPrices(
    read(
      t,
      `models: [{ name: fast, targets: [{ provider: up, model: m, prices: { prompt: 7, completion: 8 } }] },
  { name: slow, targets: [{ provider: up, model: m }] }]
prices:
  overrides:
    m: { prompt: 1, completion: 2, cached: 0.5, cache_write: null }
    up/m: { prompt: 3, completion: 4 }
    constructor: { prompt: 5, completion: 6 }`
    )
  )
  const price = (asked: string, provider: string, model: string) => priceOf?.(asked, { provider, model })
  t.match(price('m', 'other', 'm'), { prompt: 1, completion: 2, cached: 0.5, cacheWrite: undefined })
  t.match(price('m', 'up', 'm'), { prompt: 3, completion: 4 })
  t.match(price('fast', 'up', 'm'), { prompt: 7, completion: 8 })
  t.match(price('slow', 'up', 'm'), { prompt: 3, completion: 4 })
  t.match(price('fast', 'other', 'm'), { prompt: 1 }, 'only for what the alias leads to')
  t.match(price('x', 'up', 'constructor'), { prompt: 5 })
  t.equal(price('x', 'up', 'toString'), undefined)
})

t.test('the file is read beside the configuration, as YAML or JSON; overrides hold over it', async t => {
  const yaml = 'm: { prompt: 1, completion: 2 }\nn: { prompt: 3, completion: 4 }\n'
  const config = read(t, 'prices: { file: sub/p.yaml, overrides: { m: { prompt: 9, completion: 9 } } }', {
    sub: { 'p.yaml': yaml }
  } as never)
  const priceOf = buildPrices(config)
  t.match(priceOf?.('m', { provider: 'up', model: 'm' }), { prompt: 9, completion: 9 })
  t.match(priceOf?.('n', { provider: 'up', model: 'n' }), { prompt: 3, completion: 4 })
  const json = read(t, 'prices: { file: p.json }', { 'p.json': '{"up/m": {"prompt": 1.5, "completion": 2}}' })
  t.match(buildPrices(json)?.('m', { provider: 'up', model: 'm' }), { prompt: 1.5 })
})

t.test('prices that cannot be read are refused at the start, with the line of their file', async t => {
  const missing = 'prices.file: cannot be read: there is no such file'
  t.strictSame(problems(t, 'prices: { file: none.yaml }'), [missing])
  const files = { 'p.yaml': 'a: { prompt: 1, completion: 2 }\nb:\n  prompt: -1\n  completion: x\n' }
  t.strictSame(problems(t, 'prices: { file: p.yaml }', files), [
    'prices.file: p.yaml:3 b.prompt: must be 0 to 1000000',
    'prices.file: p.yaml:4 b.completion: must be a number 0 to 1000000, not text'
  ])
  t.match(problems(t, 'prices: { file: p.yaml }', { 'p.yaml': 'a: {' }), [/^prices.file: p.yaml:1 is no valid YAML/])
  t.strictSame(problems(t, 'prices: { overrides: { m: { prompt: 1 } } }'), [
    'prices.overrides.m.completion: is missing; it must be a number 0 to 1000000'
  ])
})

t.test('a limit of cost is money, and needs prices', async t => {
  const max = (value: string, prices = '') => problems(t, `limits: { max_cost_usd: ${value} }\n${prices}`)
  const needed = 'limits.max_cost_usd: needs prices: without any, no cost is known'
  t.strictSame(max('0.5'), [needed])
  t.strictSame(max('0.5', 'prices: { overrides: { m: { prompt: 1, completion: 2 } } }'), [])
  const alias = 'models: [{ name: f, targets: [{ provider: up, model: m, prices: { prompt: 1, completion: 2 } }] }]'
  t.strictSame(max('0.5', alias), [])
  t.strictSame(max('-1'), [])
  t.strictSame(max('null'), [])
  for (const wrong of ['0', '-0.5', '0.0000001', 'much']) {
    t.match(max(wrong), [/^limits.max_cost_usd: must be/], wrong)
  }
})
