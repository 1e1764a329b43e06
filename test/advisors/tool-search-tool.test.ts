import t from 'tap'
import type { Tool } from '../../src/core/chat.ts'
import type { ToolSearchPolicy } from '../../src/core/policy.ts'
import { bench, catalog, play, result, search, told } from '../helper/search-bench.ts'

t.test('numbers the model asks for are clamped to what is configured; unknown arguments are ignored', async t => {
  const found = async (more: object, policy: Partial<ToolSearchPolicy>) => {
    const { seen } = await play(await bench(), [{ calls: [search('', more)] }, { text: 'ok' }], { policy })
    return JSON.parse(String(result(seen[1]))).length
  }
  const none = { maxResults: undefined } as unknown as Partial<ToolSearchPolicy>
  t.equal(await found({}, none), 5)
  t.equal(await found({ maxResults: 0 }, none), 1)
  t.equal(await found({ maxResults: '7' }, none), 7)
  t.equal(await found({ maxResults: 2.9 }, none), 2)
  t.equal(await found({ maxResults: 99 }, none), 10)
  t.equal(await found({ maxResults: 'many', categoryFilter: 'x' }, none), 5)
  t.equal(await found({ maxResults: null }, none), 5)
  t.equal(await found({}, { maxResults: 3 }), 3)
  t.equal(await found({ maxResults: 9 }, { maxResults: 3 }), 3)
  t.equal(await found({ maxResults: 9 }, { maxResults: 3, maxResultsLimit: 6 }), 6)
  t.equal(await found({}, { ...none, maxResultsLimit: 2 }), 2)
})

t.test('the search tool tells the numbers that hold, and groups only where there are some', async t => {
  const toolOf = async (tools: readonly Tool[], policy: Partial<ToolSearchPolicy>) =>
    (await play(await bench(), [{ text: 'ok' }], { tools, policy })).seen[0]?.prompt.tools.get('toolSearchTool')
  const plain = await toolOf(catalog, { maxResults: 3 })
  t.equal(plain?.kind, 'builtin')
  t.match(plain?.parameters, {
    properties: { query: { type: 'string' }, maxResults: { type: 'integer', description: /1 to 3, default 3/ } },
    required: ['query']
  })
  t.strictSame(Object.keys(plain?.parameters?.properties ?? {}), ['query', 'maxResults'])
  const grouped = catalog.map((tool, n) => ({ ...tool, group: `g${n % 25}` }))
  const many = await toolOf(grouped, {})
  t.match(many?.parameters, { properties: { group: { enum: { length: 25 } } } })
  t.match(many?.description, /and 5 more/)
  t.strictSame(JSON.stringify(await toolOf(grouped, {})), JSON.stringify(many), 'the same bytes every time')
})

t.test('a search can be kept to a group; a group that does not exist is ignored', async t => {
  const tools = catalog.map(tool => ({ ...tool, group: tool.name.split('_')[0] ?? '' }))
  const found = async (group: unknown) => {
    const { seen } = await play(await bench(), [{ calls: [search('send customer', { group })] }, { text: 'ok' }], {
      tools
    })
    return JSON.parse(String(result(seen[1])))
  }
  t.strictSame(await found('mail'), ['mail_send'])
  t.strictSame(await found('customer'), ['customer_lookup'])
  t.strictSame((await found('nothing')).length, 1)
  t.strictSame((await found(7)).length, 1)
})

t.test('a search without a query is told so and the turn goes on', async t => {
  for (const query of [undefined, 7, null, ['mail']]) {
    const { seen, told: events } = await play(await bench(), [{ calls: [search(query)] }, { text: 'ok' }])
    t.match(result(seen[1]), /query must be a text/)
    t.match(told(events, 'tool.end'), [{ status: 'refused', code: 'tool_args_invalid' }])
    t.strictSame(told(events, 'search'), [])
  }
})

t.test('the turn ends with the error of a store that is down', async t => {
  const own = await bench()
  await own.stores.close()
  await t.rejects(play(own, [{ text: 'ok' }]), { code: 'store_unavailable' })
})
