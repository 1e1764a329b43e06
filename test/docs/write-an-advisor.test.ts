import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { fencedBlocks } from '../helper/fenced-blocks.ts'
import { type Asked, type PluggedGateway, pluggedGateway, type Said } from '../helper/plugged-gateway.ts'

const blocks = fencedBlocks('docs/guides/write-an-advisor.md').filter(({ title }) => title !== '')
const written = parse(blocks.find(({ title }) => title === 'gateway.yaml')?.text ?? '')
const MODES = ['call', 'stream'] as const

/** Runs the guide's own modules in a folder where nothing is installed; `changes` to the guide's configuration. */
async function inEachMode(
  t: Test,
  changes: object,
  model: (asked: Asked, nth: number) => Said,
  check: (t: Test, gateway: PluggedGateway, mode: 'call' | 'stream') => Promise<void>
): Promise<void> {
  for (const mode of MODES) {
    await t.test(mode, async t => {
      const folder = mkdtempSync(join(tmpdir(), 'guide-'))
      t.teardown(() => rmSync(folder, { recursive: true }))
      for (const { title, language, text } of blocks) {
        if (language !== 'ts') continue
        mkdirSync(dirname(join(folder, title)), { recursive: true })
        writeFileSync(join(folder, title), text)
      }
      await using gateway = await pluggedGateway(folder, { ...written, ...changes }, model)
      await check(t, gateway, mode)
    })
  }
}

const ordinary = { chain: { turn: ['audit', 'memory'] }, tool_search: { mode: 'off' } }
const results = ({ messages }: Asked) => messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
const names = ({ tools = [] }: Asked) => tools.map(each => each.function.name)
/** Calls the tool, then says what came of it. */
const calling =
  (name: string, args: object) =>
  (asked: Asked): Said =>
    results(asked).length === 0 ? { calls: [[name, args]] } : { text: results(asked).join(' ') }

t.test('each define… is shown in 15 lines of code, and in files that the configuration names', async t => {
  const modules = blocks.filter(({ language }) => language === 'ts')
  t.same(
    modules.map(({ title }) => `./${title}`),
    written.plugins.map((each: string | { path: string }) => (typeof each === 'string' ? each : each.path))
  )
  for (const { title, text } of modules) {
    const code = text.split('\n').filter(line => line.trim() !== '' && !line.startsWith('import'))
    t.ok(code.length <= 15, `${title} has ${code.length} lines`)
  }
})

t.test("the guide's advisor changes what the model is shown, with its options", async t => {
  const changes = { ...ordinary, chain: { turn: ['audit', 'memory', 'mask-emails'] } }
  await inEachMode(
    t,
    changes,
    () => ({ text: 'ok' }),
    async (t, gateway, mode) => {
      const messages = [{ role: 'user', content: 'Write to a@example.com now' }]
      t.equal((await gateway.ask(mode, { messages })).text, 'ok')
      t.equal(gateway.asked[0]?.messages[0]?.content, 'Write to (hidden) now')
    }
  )
})

t.test("the guide's guard refuses a call, and lets others through", async t => {
  await inEachMode(t, ordinary, calling('pay_north', { amount: 500 }), async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'At most 100 may be paid at once.')
  })
  await inEachMode(t, ordinary, calling('pay_north', { amount: 50 }), async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, 'north paid 50')
  })
})

t.test("the guide's tool is offered, checked and run", async t => {
  await inEachMode(t, ordinary, calling('add_vat', { net: 100 }), async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode)).text, '{"gross":119}')
    t.ok(names(gateway.asked[0] as Asked).includes('add_vat'))
  })
  await inEachMode(t, ordinary, calling('add_vat', { net: 'much' }), async (t, gateway, mode) => {
    t.match((await gateway.ask(mode)).text, /The arguments of add_vat were not accepted: .*net/)
  })
})

t.test("the guide's tool source lists tools for the principal", async t => {
  await inEachMode(
    t,
    ordinary,
    () => ({ text: 'ok' }),
    async (t, gateway, mode) => {
      await gateway.ask(mode)
      const [asked] = gateway.asked
      t.same(names(asked as Asked), ['add_vat', 'pay_north', 'pay_south'])
      t.match(asked?.tools?.[1]?.function.description, /till of branch north of default/)
    }
  )
})

t.test("the guide's tool index is what the search tool searches", async t => {
  const model = (asked: Asked, nth: number): Said =>
    nth === 1 ? { calls: [['toolSearchTool', { query: 'till SOUTH' }]] } : { text: results(asked).join() }
  const changes = { ...ordinary, tool_search: written.tool_search }
  await inEachMode(t, changes, model, async (t, gateway, mode) => {
    t.equal((await gateway.ask(mode, {}, { 'x-session-id': 's1' })).text, '["pay_south"]')
    t.same(gateway.asked.map(names), [['toolSearchTool'], ['toolSearchTool', 'pay_south']])
    const body = JSON.stringify({ query: 'tax amount' })
    const headers = { 'content-type': 'application/json' }
    const search = await fetch(`${gateway.url}/v1/tools/search`, { method: 'POST', body, headers })
    t.match(await search.json(), { form: 'keywords', results: [{ name: 'add_vat' }] })
  })
})

t.test("the guide's loop runs calls once, through the guards, and both model calls are paid for", async t => {
  const changes = { ...ordinary, chain: { turn: ['audit', 'memory'], loop: written.chain.loop } }
  const model = (asked: Asked): Said =>
    results(asked).length === 0
      ? {
          calls: [
            ['add_vat', { net: 1 }],
            ['pay_south', { amount: 101 }]
          ]
        }
      : { text: results(asked).join(' ') }
  await inEachMode(t, changes, model, async (t, gateway, mode) => {
    const got = await gateway.ask(mode)
    t.equal(got.text, '{"gross":1.19} At most 100 may be paid at once.')
    t.match(got.usage, { total_tokens: 30 })
    t.same(gateway.asked.map(names), [['add_vat', 'pay_north', 'pay_south'], []])
  })
})

t.test("the guide's configuration stands as it is written, with all of its plugins at once", async t => {
  await inEachMode(
    t,
    {},
    () => ({ text: 'ok' }),
    async (t, gateway, mode) => {
      t.equal((await gateway.ask(mode, {}, { 'x-session-id': 's1' })).text, 'ok')
    }
  )
})
