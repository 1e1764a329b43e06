import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Tool } from '../../../src/core/chat.ts'
import { type ToolFinderOptions, toolFinder } from '../../../src/tools/index/finder.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '', status: 'ok' })
const aTool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  kind: 'webhook',
  run,
  ...more
})
const toolset = (...tools: readonly Tool[]): ReadonlyMap<string, Tool> => new Map(tools.map(tool => [tool.name, tool]))

function counted(options: Partial<ToolFinderOptions> = {}) {
  const seen = { builds: 0, evictions: [] as string[], indexes: 0, views: 0 }
  const finder = toolFinder({
    kind: 'lexical',
    views: { max: 1000 },
    maxIndexes: 64,
    onBuild: () => void seen.builds++,
    onEvict: reason => void seen.evictions.push(reason),
    onSize: size => void Object.assign(seen, size),
    ...options
  })
  return { finder, seen }
}

t.test('any number of sessions with the same tools share one index', async t => {
  const { finder, seen } = counted()
  const tools = toolset(aTool('one'), aTool('two'))
  const first = finder.view('s1', tools)
  for (let n = 2; n <= 50; n++) t.equal(finder.view(`s${n}`, tools), first)
  const again = toolset(aTool('one'), aTool('two'))
  t.equal(finder.view('s51', again), first, 'equal content in another map of other objects')
  t.same(seen, { builds: 1, evictions: [], indexes: 1, views: 51 })
})

t.test('a change of name, description, parameters, group or order is another tool set', async t => {
  const { finder, seen } = counted()
  const [one, two] = [aTool('one'), aTool('two')]
  for (const tools of [
    toolset(one, two),
    toolset(two, one),
    toolset(one),
    toolset(one, aTool('two', { description: 'other' })),
    toolset(one, aTool('two', { parameters: { type: 'object' } })),
    toolset(one, aTool('two', { group: 'g' }))
  ]) {
    finder.view('s', tools)
  }
  t.equal(seen.builds, 6)
  finder.view('s', toolset(one, aTool('two', { alwaysVisible: true, version: 7 })))
  t.equal(seen.builds, 6, 'what is not searched does not matter')
  t.equal(seen.views, 1)
})

t.test('the tools of the client are not searched', async t => {
  const { finder } = counted()
  const { run: _run, ...clients } = aTool('weather')
  const view = finder.view('s', toolset(aTool('weather_now'), clients))
  t.same(
    (await view.search('weather', { maxResults: 5 })).results.map(({ name }) => name),
    ['weather_now']
  )
})

t.test('the index unused for longest makes room', async t => {
  const { finder, seen } = counted({ maxIndexes: 2 })
  const [a, b, c] = [toolset(aTool('a')), toolset(aTool('b')), toolset(aTool('c'))]
  finder.view('s', a)
  finder.view('s', b)
  finder.view('s', a)
  finder.view('s', c)
  t.equal(seen.builds, 3)
  t.equal(seen.indexes, 2)
  finder.view('s', a)
  t.equal(seen.builds, 3, 'still there')
  finder.view('s', b)
  t.equal(seen.builds, 4, 'was gone')
})

t.test('indexes share a bound of bytes, and one that is larger than it is kept alone', async t => {
  const { finder, seen } = counted({ indexMemoryBytes: 100 })
  const [a, b] = [toolset(aTool('a')), toolset(aTool('b'))]
  finder.view('s', a)
  finder.view('s', a)
  t.equal(seen.builds, 1)
  finder.view('s', b)
  t.equal(seen.indexes, 1)
})

t.test('beyond the bound the view unused for longest goes; -1 is no bound', async t => {
  const tools = toolset(aTool('a'))
  const { finder, seen } = counted({ views: { max: 2 } })
  for (const session of ['s1', 's2', 's1', 's3']) finder.view(session, tools)
  t.same(seen.evictions, ['lru'])
  t.equal(seen.views, 2)
  t.equal(finder.evict('s2', 'api'), false, 'it was s2')
  t.equal(finder.evict('s1', 'api'), true)
  t.same(seen.evictions, ['lru', 'api'])

  const unbounded = counted({ views: { max: -1 } })
  for (let n = 0; n < 5000; n++) unbounded.finder.view(`s${n}`, tools)
  t.equal(unbounded.seen.views, 5000)
  t.same(unbounded.seen.evictions, [])
})

t.test('with room for none a view goes when its turn is over, and counts as lru', async t => {
  const { finder, seen } = counted({ views: { max: 0 } })
  finder.view('s', toolset(aTool('a')))
  t.equal(seen.views, 1, 'it is there during the turn')
  finder.release('s')
  t.same(seen, { builds: 1, evictions: ['lru'], indexes: 1, views: 0 })
  finder.release('s')
  t.same(seen.evictions, ['lru'], 'once')

  const kept = counted({ views: { max: 1 } })
  kept.finder.view('s', toolset(aTool('a')))
  kept.finder.release('s')
  t.equal(kept.seen.views, 1)
})

t.test('an idle view is swept without being asked for; use keeps it', async t => {
  const { finder, seen } = counted({ views: { max: 1000, ttlMs: 600 } })
  const tools = toolset(aTool('a'))
  finder.view('idle', tools)
  finder.view('used', tools)
  for (let n = 0; n < 12 || seen.evictions.length === 0; n++) {
    await sleep(100)
    finder.view('used', tools)
  }
  t.same(seen.evictions, ['ttl'])
  t.equal(seen.views, 1)
  t.equal(finder.evict('used', 'api'), true)
  t.equal(seen.builds, 1, 'the index stays')
  finder.close()
})

t.test('an index of tools that are searched once is not kept', async t => {
  const { finder, seen } = counted()
  const found = await finder
    .build([{ name: 'any name at all' }, { name: 'other' }])
    .search('any name', { maxResults: 3 })
  t.equal(found.results[0]?.name, 'any name at all')
  t.same(seen, { builds: 0, evictions: [], indexes: 0, views: 0 })
})

t.test('both kinds of index of one tool set stand beside each other', async t => {
  const { finder, seen } = counted()
  const tools = toolset(aTool('a'))
  t.equal(finder.index(tools).kind, 'lexical')
  t.equal(finder.index(tools, 'regex').kind, 'regex')
  t.equal(finder.index(tools, 'regex'), finder.index(tools, 'regex'))
  t.equal(seen.builds, 2)
  t.equal(seen.views, 0)
})
