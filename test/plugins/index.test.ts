import t from 'tap'
import type { SearchOptions } from '../../src/core/finder.ts'
import type { ToolIndexPlugin } from '../../src/plugins/define-tool-index.ts'
import { pluggedIndex } from '../../src/plugins/plugged-index.ts'
import { silent } from '../helper/turn.ts'

const tools = [
  { name: 'stock_level', description: 'Units in the warehouse', group: 'store' },
  { name: 'send_mail', description: 'Sends a mail' },
  { name: 'stock_move', description: 'Moves stock', group: 'store' }
]

function indexOf(build: ToolIndexPlugin['build'], log = silent) {
  const services = { log, model: () => Promise.reject(new Error('no model')) as never }
  const plugin = { name: 'vector', build } as ToolIndexPlugin<unknown>
  return pluggedIndex(plugin, { options: { k: 1 }, services })(tools)
}

async function names(index: ReturnType<typeof indexOf>, options: Partial<SearchOptions> = {}, query = 'stock') {
  return (await index.search(query, { maxResults: 5, ...options })).results.map(({ name }) => name)
}

t.test('a plugin finds tools in its order, as many as asked for; what is none of them is left out', async t => {
  const index = indexOf(async (given, { options }) => {
    t.same(given, tools)
    t.same(options, { k: 1 })
    return {
      search: async (query, max) => ['send_mail', `no_${query}_${max}`, 'stock_move', 'send_mail', 'stock_level']
    }
  })
  t.same(await names(index), ['send_mail', 'stock_move', 'stock_level'])
  t.same(await names(index, { maxResults: 2 }), ['send_mail', 'stock_move'])
  t.same(await names(index, { group: 'store' }), ['stock_move', 'stock_level'])
  t.equal(index.kind, 'vector')
  t.same(index.groups, ['store'])
})

t.test('an index is built once, when it is first searched', async t => {
  let builds = 0
  const index = indexOf(() => {
    builds++
    return { search: () => ['send_mail'] }
  })
  t.equal(builds, 0)
  await Promise.all([names(index), names(index)])
  t.equal(builds, 1)
})

t.test('where a plugin fails the built-in index answers, and the log says so', async t => {
  const told: object[] = []
  const log = { ...silent, error: (fields: object) => void told.push(fields) }
  const search = indexOf(
    () => ({
      search: () => {
        throw new Error('down')
      }
    }),
    log
  )
  t.same(await names(search, { maxResults: 1 }, 'mail'), ['send_mail'])
  const build = indexOf(() => Promise.reject(new Error('down')), log)
  t.same(await names(build, { group: 'store' }, 'warehouse'), ['stock_level'])
  const odd = indexOf(() => ({ search: () => undefined as never }), log)
  t.same(await names(odd, {}, 'mail'), ['send_mail'])
  t.match(told, [{ event: 'plugin.index_failed' }, { event: 'plugin.index_failed' }, { event: 'plugin.index_failed' }])
})

t.test('an index that could not be built is built at the next search', async t => {
  let builds = 0
  const index = indexOf(async () => {
    if (++builds === 1) throw new Error('not yet')
    return { search: () => ['stock_move'] }
  })
  t.same(await names(index, {}, 'mail'), ['send_mail'])
  t.same(await names(index, {}, 'mail'), ['stock_move'])
})
