import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { modeOf } from '../../src/config/mode.ts'
import { configSchema } from '../../src/config/schema.ts'
import { type Asked, type PluggedGateway, pluggedGateway, type Said } from '../helper/plugged-gateway.ts'

const MODES = ['call', 'stream'] as const

/** The plugins of a test tell what they do through a list that they find by this name. */
const told: string[] = []
Object.assign(globalThis, { told })

type Model = (asked: Asked, nth: number) => Said

async function inEachMode(
  t: Test,
  { files, config, model }: { files: Record<string, string>; config: object; model: Model },
  check: (t: Test, gateway: PluggedGateway, mode: 'call' | 'stream') => Promise<void>
): Promise<void> {
  for (const mode of MODES) {
    await t.test(mode, async t => {
      told.length = 0
      const plugins = Object.keys(files).map(name => `./${name}`)
      await using gateway = await pluggedGateway(t.testdir(files), { plugins, ...config }, model)
      await check(t, gateway, mode)
    })
  }
}

const telling = (name: string, places: string) =>
  `export default { name: '${name}', places: ${places}, create: () => async (turn, next) => {
    told.push('> ${name}'); const answer = await next(turn); told.push('< ${name}'); return answer } }\n`
const tool = (name: string) =>
  `export default { name: '${name}', description: 'd', input_schema: { type: 'object' }, run: () => { told.push('${name}'); return '${name} ran' } }\n`
const guard = (name: string, refuses = '') =>
  `export default { name: '${name}', tools: ['*'], create: () => async (call, turn, next) => { told.push('${name}'); ${refuses}; return next(call, turn) } }\n`

const results = ({ messages }: Asked) => messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
const calling =
  (name: string, args = {}): Model =>
  asked =>
    results(asked).length === 0 ? { calls: [[name, args]] } : { text: `It said: ${results(asked).join()}` }

t.test('advisors of plugins stand in the order of the lists, around the loop and inside it', async t => {
  const files = {
    'a.js': telling('a', "['turn']"),
    'b.js': telling('b', "['call', 'turn']"),
    'c.js': telling('c', "['call']"),
    't.js': tool('stock')
  }
  const config = { chain: { turn: ['b', 'audit', 'a'], call: ['meter', 'c'] } }
  await inEachMode(t, { files, config, model: calling('stock') }, async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'It said: stock ran')
    t.same(told, ['> b', '> a', '> c', '< c', 'stock', '> c', '< c', '< a', '< b'])
  })
})

t.test('an advisor may answer in the place of the model, which is not asked then', async t => {
  const files = {
    'blocked.js': `import { newMessage, replay } from 'loopgate'
export default { name: 'blocked', places: ['turn'], create: () => async (turn, next) => {
  if (!turn.prompt.messages.some(({ content }) => content.includes('WORD'))) return next(turn)
  const message = newMessage('assistant', 'Of that I do not speak.')
  await replay(message, turn.emit)
  return { message, messages: [message], finish: 'stop', offered: new Map() }
} }`
  }
  const config = { chain: { turn: ['audit', 'blocked'] } }
  await inEachMode(t, { files, config, model: () => ({ text: 'ok' }) }, async (t, gateway, mode) => {
    const ask = (content: string) => gateway.ask(mode, { messages: [{ role: 'user', content }] })
    const blocked = await ask('Say WORD')
    t.match(blocked, { status: 200, text: 'Of that I do not speak.', finish: 'stop' })
    t.equal(gateway.asked.length, 0)
    t.equal((await ask('Say word')).text, 'ok')
  })
})

t.test('an advisor adds a tool to a turn that had none; it is offered and run like others', async t => {
  const files = {
    'adds.js': `import { revise } from 'loopgate'
const clock = { name: 'clock', kind: 'builtin', description: 'd', parameters: { type: 'object' }, run: async () => ({ content: 'noon', status: 'ok' }) }
export default { name: 'adds', places: ['turn', 'call'], create: () => (turn, next) =>
  next(revise(turn, { tools: new Map([...turn.prompt.tools, ['clock', clock]]) })) }`
  }
  for (const config of [{ chain: { turn: ['adds'] } }, { chain: { call: ['adds', 'meter'] } }]) {
    await inEachMode(t, { files, config, model: calling('clock') }, async (t, gateway, mode) => {
      t.match(await gateway.ask(mode), { text: 'It said: noon', usage: { total_tokens: 30 } })
      t.same(
        gateway.asked[0]?.tools?.map(each => each.function.name),
        ['clock']
      )
    })
  }
})

t.test('an advisor inside the loop may take calls out of an answer; then none is run', async t => {
  const files = {
    't.js': tool('stock'),
    'without.js': `export default { name: 'without', places: ['call'], create: () => async (turn, next) => {
  const answer = await next({ ...turn, emit: undefined })
  const message = { ...answer.message, content: 'No calls today.', calls: [] }
  await turn.emit?.({ type: 'text', text: message.content })
  return { ...answer, message, messages: [message] }
} }`
  }
  const config = { chain: { call: ['without', 'meter'] } }
  await inEachMode(t, { files, config, model: calling('stock') }, async (t, gateway, mode) => {
    t.match(await gateway.ask(mode), { text: 'No calls today.', finish: 'stop' })
    t.equal(gateway.asked.length, 1)
    t.same(told, [])
  })
})

t.test('a loop of a plugin stands in place of ours: one that loops not makes one pass, and no tool runs', async t => {
  const files = {
    't.js': tool('stock'),
    'once.js': `export default { name: 'once', create: () => (turn, next) => next(turn) }\n`
  }
  const config = { chain: { loop: 'once' } }
  await inEachMode(t, { files, config, model: calling('stock') }, async (t, gateway, mode) => {
    await gateway.ask(mode)
    t.equal(gateway.asked.length, 1)
    t.same(told, [])
  })
})

t.test('without plugins tools are looped over by default, and a turn without tools is one pass', async t => {
  await inEachMode(
    t,
    { files: { 't.js': tool('stock') }, config: {}, model: calling('stock') },
    async (t, gateway, mode) => {
      t.equal((await gateway.ask(mode)).text, 'It said: stock ran')
      t.equal(gateway.asked.length, 2)
    }
  )
  await inEachMode(t, { files: {}, config: {}, model: () => ({ text: 'ok' }) }, async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'ok')
    t.equal(gateway.asked.length, 1)
  })
})

t.test('guards of plugins stand outside the gateway’s own, in the order of plugins', async t => {
  const files = { 'b.js': guard('b'), 'a.js': guard('a'), 't.js': tool('stock') }
  const config = { limits: { per_tool: { stock: 0 }, on_limit: 'tell_model' } }
  await inEachMode(t, { files, config, model: calling('stock') }, async (t, gateway, mode) => {
    t.match((await gateway.ask(mode)).text, /It said: Limit reached/)
    t.same(told, ['b', 'a'], 'they saw the call that a limit then refused')
  })
  const refusing = {
    'refuses.js': guard('a', "return { status: 'refused', code: 'tool_denied', content: 'Not today.' }"),
    'b.js': guard('b'),
    't.js': tool('stock')
  }
  await inEachMode(t, { files: refusing, config: {}, model: calling('stock') }, async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'It said: Not today.')
    t.same(told, ['a'])
  })
})

t.test('what a plugin asks another model counts once, and the answer is not said to be that model’s', async t => {
  const files = {
    'asks.js': `import { newMessage, withUsageOf } from 'loopgate'
export default { name: 'asks', places: ['turn'], create: (options, services) => {
  const ask = services.model('other')
  return async (turn, next) => {
    const answer = await next(turn)
    const asked = await ask(turn, [newMessage('user', 'Is it right?')], { temperature: 0 })
    services.log.info({ event: 'asked', said: asked.message.content })
    return withUsageOf(answer, asked)
  }
} }`
  }
  const config = { chain: { turn: ['audit', 'asks'] } }
  await inEachMode(t, { files, config, model: ({ model }) => ({ text: `by ${model}` }) }, async (t, gateway, mode) => {
    const got = await gateway.ask(mode, { model: 'first', temperature: 1 })
    t.match(got, { text: 'by first', usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 } })
    t.match(gateway.asked, [
      { temperature: 1 },
      { model: 'other', temperature: 0, messages: [{ content: 'Is it right?' }] }
    ])
    t.notOk(gateway.asked[1]?.stream, 'nobody listens to it')
    if (mode === 'call') t.equal(got.headers.get('x-loopgate-model'), 'first')
    const id = got.headers.get('x-loopgate-turn-id')
    const run = await (await fetch(`${gateway.url}/v1/turns/${id}`)).json()
    t.match(run, {
      usage: { total_tokens: 30 },
      rounds: [
        { n: 1, upstream_model: 'first' },
        { n: 0, upstream_model: 'other' }
      ]
    })
    t.match(
      gateway.logged,
      gateway.logged.map(line => (line.event === 'asked' ? { plugin: 'asks', said: 'by other' } : {}))
    )
    t.ok(gateway.logged.some(({ event }) => event === 'asked'))
  })
})

t.test('an advisor that fails fails the turn, and its words stay in the log', async t => {
  const files = {
    'bad.js': `export default { name: 'bad', places: ['turn'], create: () => async () => { throw new Error('hunter2') } }\n`
  }
  const config = { chain: { turn: ['audit', 'bad'] } }
  await inEachMode(t, { files, config, model: () => ({}) }, async (t, gateway, mode) => {
    const got = await gateway.ask(mode)
    t.equal(got.error?.code, 'internal')
    t.notMatch(JSON.stringify(got.error), /hunter2/)
  })
})

t.test('a plugin that nothing names is not created, and the log says so', async t => {
  const files = {
    'idle.js': `export default { name: 'idle', places: ['turn'], create: () => { throw new Error('created') } }\n`
  }
  await inEachMode(t, { files, config: {}, model: () => ({ text: 'ok' }) }, async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'ok')
    t.match(
      gateway.logged.find(({ event }) => event === 'plugin.unused'),
      { plugin: 'idle' }
    )
  })
})

t.test('a gateway is not made without the plugins that its configuration names', async t => {
  const config = configSchema.parse({ plugins: ['./guard.js'] })
  const log = pino({ level: 'silent' })
  await t.rejects(buildApp(config, { mode: modeOf(config), log, ownUrl: () => '' }), /The plugins were not loaded/)
})

t.test('audit writes a line once a turn around the loop, and once a round inside it', async t => {
  const files = { 't.js': tool('stock') }
  for (const [chain, lines] of [
    [{ turn: ['audit'] }, 1],
    [{ turn: [], call: ['audit', 'meter'] }, 2]
  ] as const) {
    await inEachMode(t, { files, config: { chain }, model: calling('stock') }, async (t, gateway, mode) => {
      const { headers } = await gateway.ask(mode)
      const ends = gateway.logged.filter(({ event }) => event === 'turn.end')
      t.equal(ends.length, lines)
      t.ok(ends.every(({ turn_id }) => turn_id === headers.get('x-loopgate-turn-id')))
    })
  }
})
