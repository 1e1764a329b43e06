import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import evaluation from '../../examples/plugins/evaluation.ts'
import { laws } from '../../src/laws/laws.ts'
import { type Asked, pluggedGateway, type Said } from '../helper/plugged-gateway.ts'

const MODES = ['call', 'stream'] as const

/** The first model answers `first`, `second`, …; the judge says what `verdict` makes of the answer it sees. */
function models(verdict: (answer: string) => string): (asked: Asked) => Said {
  return ({ model, messages }) => {
    const last = messages.at(-1)?.content ?? ''
    if (model === 'judge') return { text: verdict(last.split('Answer:\n')[1] ?? '') }
    const refused = messages.filter(({ content }) => content?.startsWith('Your answer was not accepted')).length
    return { text: ['first', 'second', 'third', 'fourth'][refused] ?? 'more' }
  }
}

function gatewayIn(folder: string, verdict: (answer: string) => string, options: object = {}, model = models(verdict)) {
  copyFileSync('examples/plugins/evaluation.ts', join(folder, 'evaluation.ts'))
  const plugins = [{ path: './evaluation.ts', options: { judge: 'judge', ...options } }]
  return pluggedGateway(folder, { plugins, chain: { turn: ['audit', 'memory', 'evaluation'] } }, model)
}

t.test('evaluation: an answer that a second model refuses is asked for again with the reason', async t => {
  for (const mode of MODES) {
    await using gateway = await gatewayIn(t.testdir({}), answer => (answer === 'second' ? 'PASS' : 'FAIL: too vague'))
    const { text, usage, pieces, finish } = await gateway.ask(mode)
    t.equal(text, 'second', `${mode}: the client gets the answer that passed, and no other`)
    t.equal(finish, 'stop')
    if (mode === 'stream') t.same(pieces, ['second'], 'nothing of the refused answer was sent')
    t.match(usage, { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 }, 'all four model calls are paid for')
    t.equal(gateway.asked.length, 4)
    t.same(
      gateway.asked.map(({ model }) => model),
      ['m', 'judge', 'm', 'judge']
    )
    const again = gateway.asked[2]?.messages.slice(-2)
    t.match(again, [
      { role: 'assistant', content: 'first' },
      { role: 'user', content: /not accepted: too vague/ }
    ])
    t.notOk(
      gateway.asked.some(({ model, stream }) => model === 'judge' && stream),
      'nobody listens to the judge'
    )
  }
})

t.test('evaluation: an answer that passes is given as it is', async t => {
  for (const mode of MODES) {
    await using gateway = await gatewayIn(t.testdir({}), () => 'PASS')
    const { text, usage, headers } = await gateway.ask(mode)
    t.equal(text, 'first')
    t.equal(usage?.total_tokens, 30)
    t.equal(headers.get('x-loopgate-notes'), null)
  }
})

t.test('evaluation: it is bounded; the last answer is given with a note', async t => {
  for (const mode of MODES) {
    await using gateway = await gatewayIn(t.testdir({}), () => 'FAIL', { max_retries: 1 })
    const { text, headers } = await gateway.ask(mode)
    t.equal(text, 'second')
    t.equal(gateway.asked.length, 4)
    if (mode === 'call') t.match(headers.get('x-loopgate-notes'), /evaluation:failed/)
  }
})

t.test('evaluation: what is remembered is the accepted answer; the refused one is not', async t => {
  await using gateway = await gatewayIn(t.testdir({}), answer => (answer === 'second' ? 'PASS' : 'FAIL: no'))
  const session = { 'x-session-id': 's1' }
  await gateway.ask('call', {}, session)
  const kept = await (await fetch(`${gateway.url}/v1/sessions/s1/messages`)).json()
  const texts = JSON.stringify(kept)
  t.match(texts, /second/)
  t.notMatch(texts, /first|not accepted/)
})

t.test('evaluation: an answer that is none yet, since its calls are the client’s, is not judged', async t => {
  for (const mode of MODES) {
    const model = (): Said => ({ calls: [['mine', {}]] })
    await using gateway = await gatewayIn(t.testdir({}), () => 'FAIL', {}, model)
    const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object' } } }]
    t.equal((await gateway.ask(mode, { tools })).finish, 'tool_calls')
    t.equal(gateway.asked.length, 1)
  }
})

t.test('evaluation: a judge that does not exist keeps the gateway from starting, with the place', async t => {
  copyFileSync('examples/plugins/evaluation.ts', join(t.testdir({}), 'evaluation.ts'))
  const config = {
    providers: [{ name: 'up', kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: ['m'] }],
    plugins: [{ path: './evaluation.ts', options: { judge: 'nobody' } }],
    chain: { turn: ['evaluation'] }
  }
  await t.rejects(
    pluggedGateway(t.testdirName, config, () => ({})),
    {
      name: 'ConfigError',
      message: /plugins\[0\]: evaluation cannot be created: there is no model named nobody/
    }
  )
})

t.test('evaluation: it keeps the laws in random chains', async t => {
  const model = (messages: readonly { content: unknown }[]) =>
    String(messages.at(-1)?.content).length % 3 === 0 ? 'PASS' : 'FAIL: too short'
  t.equal(await laws({ plugin: evaluation, options: { judge: 'judge' }, model }, { chains: 800 }), undefined)
})
