import t, { type Test } from 'tap'
import { buildChain } from '../../src/config/build-chain.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { readConfig } from '../../src/config/read.ts'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import { textOf } from '../../src/core/text.ts'
import { finder } from '../../src/laws/finder.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { GOOD, ofSchema, STOCK } from '../helper/structured.ts'
import { aPolicy, aTurn, type Scripted, scripted } from '../helper/turn.ts'

/** The configured chain over a scripted model that the provider `up` serves, with a store of its own. */
async function chainOf(t: Test, config: ConfigInput, script: readonly Scripted[]) {
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  t.teardown(() => stores.close())
  const model = scripted(script)
  const models = { chat: model, resolve: () => ({ provider: 'up', model: 'm' }), list: () => [] }
  const chat = buildChain(configSchema.parse(config), { models, sessions: stores.sessions, finder, guards: [] })
  const ask = (text: string, id: string) => {
    const turn = aTurn({ id, policy: { ...aPolicy, memory: { ...aPolicy.memory, mode: 'on' } } }, text)
    const [message] = turn.prompt.messages
    const messages = message ? [{ ...message, id: `question_of_${id}` }] : []
    const prompt = { ...turn.prompt, messages, params: { response_format: ofSchema(STOCK) } }
    return chat({ ...turn, question: `question_of_${id}`, prompt })
  }
  const seen = () => model.seen.map(({ prompt }) => prompt.messages.map(({ content }) => textOf(content)))
  return { ask, model, seen }
}

const up = { name: 'up', kind: 'openai' } as const

t.test('the mode is the configured one, and with auto that of the provider, which is native by default', async t => {
  const cases: [ConfigInput, boolean][] = [
    [{ providers: [up] }, true],
    [{ providers: [{ ...up, structured_output: 'prompt' }] }, false],
    [{ providers: [{ ...up, structured_output: 'prompt' }], structured_output: { mode: 'native' } }, true],
    [{ providers: [up], structured_output: { mode: 'prompt' } }, false]
  ]
  for (const [config, isNative] of cases) {
    const { ask, model, seen } = await chainOf(t, config, [{ text: GOOD }])
    await ask('Stock?', 'turn_1')
    t.equal('response_format' in (model.seen[0]?.prompt.params ?? {}), isNative, JSON.stringify(config))
    t.equal(seen()[0]?.[0] === 'Stock?', isNative)
  }
})

t.test('refused answers, complaints and instructions are not remembered', async t => {
  const script = [{ text: 'x' }, { text: GOOD }, { text: GOOD }]
  const { ask, seen } = await chainOf(t, { structured_output: { mode: 'prompt' } }, script)
  await ask('Stock?', 'turn_1')
  await ask('And now?', 'turn_2')
  const [question, answer, next] = seen()[2] ?? []
  t.strictSame([question, answer], ['Stock?', GOOD])
  t.match(next, /^And now\?\nAnswer with JSON only/)
  t.equal(seen()[2]?.length, 3)
})

t.test('defaults: in the chain, mode auto, three retries, and the last answer is returned', async t => {
  const { chain, structured_output } = configSchema.parse({})
  t.strictSame(structured_output, { mode: 'auto', max_retries: 3, on_exhausted: 'return' })
  t.equal(chain.turn.at(-1), 'structured-output')
})

t.test(
  'a negative number of retries, an unknown mode, and a place outside memory are refused at the start',
  async t => {
    const text = `
structured_output: { max_retries: -1, mode: both }
chain: { turn: [structured-output, memory], call: [meter, structured-output] }
`
    const dir = t.testdir({ 'gateway.yaml': text })
    try {
      readConfig({ cwd: dir, env: {} })
      t.fail('it was accepted')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      t.strictSame(error.message.split('\n').sort(), [
        'gateway.yaml:2 structured_output.max_retries: must be 0 to 20',
        'gateway.yaml:2 structured_output.mode: must be one of auto, native, prompt',
        'gateway.yaml:3 chain.call[1]: structured-output is listed twice',
        'gateway.yaml:3 chain.turn[0]: structured-output must stand after memory, which would remember refused answers'
      ])
    }
  }
)
