import { spawnSync } from 'node:child_process'
import t from 'tap'
import type { Tool } from '../../../src/core/chat.ts'
import type { Searchable, ToolView } from '../../../src/core/finder.ts'
import { type ToolFinderOptions, toolFinder } from '../../../src/tools/index/finder.ts'
import { buildIndex } from '../../../src/tools/index/tool-index.ts'

const KINDS = ['lexical', 'regex'] as const
const tool = (name: string, description = ''): Searchable => ({ name, description })
const run: NonNullable<Tool['run']> = async () => ({ content: '', status: 'ok' })
const toolset = (...tools: readonly Searchable[]): ReadonlyMap<string, Tool> =>
  new Map(
    tools.map(({ name, description = '' }): [string, Tool] => [name, { name, description, kind: 'webhook', run }])
  )
const finderOf = (options: Partial<ToolFinderOptions> = {}) => {
  const evictions: string[] = []
  const onEvict = (reason: string) => void evictions.push(reason)
  return { finder: toolFinder({ kind: 'lexical', views: { max: 10 }, maxIndexes: 8, onEvict, ...options }), evictions }
}
const names = async (index: Pick<ToolView, 'search'>, query: string, maxResults = 5) =>
  (await index.search(query, { maxResults })).results.map(({ name }) => name)

t.test('a tool is found by a word of its name or its description, in any case, and no other is', async t => {
  const tools = [tool('weather_now', 'Present conditions'), tool('calculator', 'Adds numbers'), tool('clock')]
  for (const kind of KINDS) {
    const index = buildIndex(kind, tools)
    t.strictSame(await names(index, 'weather'), ['weather_now'], kind)
    t.strictSame(await names(index, 'CONDITIONS'), ['weather_now'], kind)
    t.strictSame(await names(index, 'Weather_Now'), ['weather_now'], kind)
    t.strictSame(await names(index, 'calculatoR'), ['calculator'], kind)
    t.strictSame(await names(index, 'zebra'), [], kind)
    t.equal(index.kind, kind, 'it says of which kind it is')
  }
})

t.test('a hit in the name ranks before one in the description', async t => {
  const tools = [tool('notes', 'Takes notes on an order'), tool('order_find', 'Looks something up')]
  for (const kind of KINDS) t.strictSame(await names(buildIndex(kind, tools), 'order'), ['order_find', 'notes'], kind)
})

t.test('of more hits than asked for the best are given, as many as asked for', async t => {
  const tools = Array.from({ length: 10 }, (_, n) => tool(`weather_${n}`, 'Weather'))
  for (const kind of KINDS) {
    t.strictSame(await names(buildIndex(kind, tools), 'weather', 3), ['weather_0', 'weather_1', 'weather_2'], kind)
    t.equal((await names(buildIndex(kind, tools), 'weather', 50)).length, 10, kind)
    t.strictSame(await names(buildIndex(kind, []), 'weather', 3), [], `${kind}: of no tools none is found`)
  }
})

t.test(
  'a session finds only the tools it has, whatever others have, and what it has is found after an eviction',
  async t => {
    const { finder, evictions } = finderOf()
    const [mine, theirs] = [toolset(tool('mail_send'), tool('mail_read')), toolset(tool('mail_archive'))]
    t.strictSame(await names(finder.view('mine', mine), 'mail'), ['mail_send', 'mail_read'])
    t.strictSame(await names(finder.view('theirs', theirs), 'mail'), ['mail_archive'])
    t.equal(finder.evict('mine', 'api'), true)
    t.equal(finder.evict('mine', 'api'), false, 'it has gone')
    t.equal(finder.evict('nobody', 'api'), false, 'and there never was another')
    t.strictSame(evictions, ['api'], 'what has gone is not told twice')
    t.strictSame(await names(finder.view('theirs', theirs), 'mail'), ['mail_archive'], 'the other is as it was')
    t.strictSame(await names(finder.view('mine', mine), 'mail'), ['mail_send', 'mail_read'])
  }
)

t.test('eight searches at once are all answered', async t => {
  const { finder } = finderOf()
  const tools = toolset(...Array.from({ length: 200 }, (_, n) => tool(`tool_${n}`, `Does thing ${n} for the weather`)))
  const found = await Promise.all(
    Array.from({ length: 8 }, (_, n) => names(finder.view(`s${n}`, tools), `weather thing ${n}`))
  )
  t.ok(found.every(each => each.length === 5))
  t.strictSame(
    found.map(([first]) => first),
    Array.from({ length: 8 }, (_, n) => `tool_${n}`)
  )
})

t.test('letters are the same in every country', async t => {
  const script = `
    import { buildIndex } from '${new URL('../../../src/tools/index/tool-index.ts', import.meta.url)}'
    console.log(Intl.DateTimeFormat().resolvedOptions().locale)
    for (const kind of ['lexical', 'regex']) {
      const index = buildIndex(kind, [{ name: 'INVOICE_LIST', description: 'FINDS IT' }])
      console.log(index.search('invoice finds', { maxResults: 1 }).results[0]?.matched.join())
    }`
  const env = { ...process.env, LC_ALL: 'tr_TR.UTF-8', NODE_TEST_CONTEXT: undefined }
  const command = ['--input-type=module-typescript', '-e', script]
  const { stdout } = spawnSync(process.execPath, command, { env, encoding: 'utf8' })
  t.strictSame(stdout.trim().split('\n'), ['tr-TR', 'name,description', 'name,description'])
})

t.test('with room for one view its own session never puts it out, another does', async t => {
  const { finder, evictions } = finderOf({ views: { max: 1 } })
  const tools = toolset(tool('a'))
  for (let n = 0; n < 3; n++) finder.view('s1', tools)
  t.strictSame(evictions, [])
  finder.view('s2', tools)
  t.strictSame(evictions, ['lru'])
})

t.test('a bound of number and one of time hold together, each for its own views', async t => {
  const { finder, evictions } = finderOf({ views: { max: 2, ttlMs: 200 } })
  t.teardown(() => finder.close())
  const tools = toolset(tool('a'))
  for (const session of ['s1', 's2', 's3']) finder.view(session, tools)
  t.strictSame(evictions, ['lru'])
  for (let n = 0; n < 200 && evictions.length < 3; n++) await new Promise(done => setTimeout(done, 25))
  t.strictSame(evictions, ['lru', 'ttl', 'ttl'], 'those that were left went by their time')
})
