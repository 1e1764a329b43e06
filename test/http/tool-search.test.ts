import { readFileSync } from 'node:fs'
import fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t from 'tap'
import type { Tool } from '../../src/core/chat.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import type { Principal } from '../../src/core/principal.ts'
import { groundRules } from '../../src/http/ground-rules.ts'
import { type ToolSearchRouteOptions, toolSearchRoute } from '../../src/http/tool-search.ts'
import { toolFinder } from '../../src/tools/index/finder.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '', status: 'ok' })
const catalog: Tool[] = JSON.parse(readFileSync('test/cases/loop/catalog-28.json', 'utf8')).map(
  (tool: Pick<Tool, 'name' | 'description' | 'parameters'>) => ({ ...tool, kind: 'webhook', run })
)

interface Shown {
  readonly form: string
  readonly results: { readonly name: string; readonly score: number; readonly matched: string[] }[]
  readonly error: { readonly code: string; readonly param: string }
}

/** A gateway that has this route only; whoever sends `x-role: admin` is one. */
async function gateway(results: ToolSearchRouteOptions['results'] = {}) {
  const tools = new Map(catalog.map(tool => [tool.name, tool]))
  const events: TurnEvent[] = []
  let builds = 0
  const finder = toolFinder({ kind: 'lexical', views: { max: 10 }, maxIndexes: 4, onBuild: () => void builds++ })
  const app = fastify({ bodyLimit: 16 * 1024 * 1024 })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  groundRules(app)
  app.decorateRequest('principal')
  app.addHook('onRequest', (request, _reply, done) => {
    const roles = new Set(['chat', ...(request.headers['x-role'] === 'admin' ? ['admin'] : [])])
    const principal: Principal = { tenant: 'a', key: 'k', roles, models: ['*'], tools: { allow: ['*'], deny: [] } }
    request.setDecorator('principal', principal)
    done()
  })
  await app.register(toolSearchRoute, {
    finder,
    catalog: { toolsFor: ({ key }) => (key === 'k' ? tools : new Map()) },
    results,
    tell: event => void events.push(event)
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/v1/tools/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
    return { status: response.status, body: (await response.json()) as Shown }
  }
  return { app, url, post, events, builds: () => builds }
}

const names = ({ body }: { body: Shown }) => body.results.map(({ name }) => name)

t.test('one query: its form, and names with scores and matched fields, best first', async t => {
  const { app, post, events, builds } = await gateway()
  const { status, body } = await post({ query: 'warehouse stock', max_results: 3 })
  t.equal(status, 200)
  t.equal(body.form, 'keywords')
  t.equal(body.results.length, 3)
  t.strictSame(Object.keys(body.results[0] ?? {}), ['name', 'score', 'matched'])
  t.match(body.results[0], { name: 'warehouse_stock_level', matched: ['name', 'description'] })
  t.ok((body.results[0]?.score ?? 0) > (body.results[1]?.score ?? 0))
  t.match(events, [{ type: 'search', round: 0, index: 'lexical', form: 'keywords', found: { length: 3 } }])
  await post({ query: 'mail' })
  t.equal(builds(), 1, 'the index is shared')
  await app.close()
})

t.test('several queries: one answer each, in order', async t => {
  const { app, post } = await gateway()
  const { status, body } = await post({ queries: ['select:mail_send', '+room reserve', '/^clock/', 'zebra', ''] })
  t.equal(status, 200)
  t.strictSame(
    (body.results as unknown as Shown[]).map(({ form, results }) => [form, results[0]?.name]),
    [
      ['names', 'mail_send'],
      ['required', 'room_reserve'],
      ['pattern', 'clock_now'],
      ['keywords', undefined],
      ['keywords', undefined]
    ]
  )
  await app.close()
})

t.test('the number of results is what a model would get', async t => {
  const { app, post } = await gateway()
  const count = async (max_results?: unknown) =>
    names(await post({ query: 'a the order customer mail', max_results })).length
  t.equal(await count(), 5)
  t.equal(await count(0), 1)
  t.equal(await count('3'), 3)
  t.equal(await count(2.5), 2)
  t.equal(await count(100), 10)
  await app.close()
  const capped = await gateway({ maxResults: 2 })
  t.equal(names(await capped.post({ query: 'order customer mail', max_results: 9 })).length, 2)
  await capped.app.close()
})

t.test('another kind of index can be asked for', async t => {
  const { app, post } = await gateway()
  t.equal((await post({ query: 'mail.*', index: 'regex' })).body.form, 'pattern')
  t.equal((await post({ query: 'mail.*', index: 'lexical' })).body.form, 'keywords')
  t.equal((await post({ query: 'mail.*' })).body.form, 'keywords')
  t.strictSame(names(await post({ query: '', index: 'regex', max_results: 2 })), [
    'warehouse_stock_level',
    'warehouse_reserve'
  ])
  await app.close()
})

t.test('an admin can search tools of any names; they are not kept', async t => {
  const { app, post, builds } = await gateway()
  const tools = [
    { name: 'a name with spaces!', description: 'Feeds the parrot', parameters: { type: 'object' } },
    { name: 'toolSearchTool' },
    { name: 'x'.repeat(300) }
  ]
  const admin = { 'x-role': 'admin' }
  t.strictSame(names(await post({ query: 'parrot', tools }, admin)), ['a name with spaces!'])
  t.strictSame(names(await post({ query: 'mail', tools }, admin)), [], 'these instead of the others')
  t.equal(builds(), 0)
  const denied = await post({ query: 'parrot', tools })
  t.equal(denied.status, 403)
  t.equal(denied.body.error.code, 'role_required')
  t.equal(denied.body.error.param, 'tools')
  await app.close()
})

t.test('requests that make no sense are refused with the field that is wrong', async t => {
  const { app, post } = await gateway()
  for (const [body, param] of [
    [{}, 'query'],
    [{ query: 'a', queries: ['b'] }, 'query'],
    [{ query: 7 }, 'query'],
    [{ queries: Array.from({ length: 1001 }, () => 'a') }, 'queries'],
    [{ query: 'a', index: 'vector' }, 'index'],
    [{ query: 'a', tools: [{ description: 'no name' }] }, 'tools[0].name']
  ] as const) {
    const { status, body: answer } = await post(body)
    t.equal(status, 400, JSON.stringify(body).slice(0, 60))
    t.equal(answer.error.code, 'invalid_request')
    t.equal(answer.error.param, param)
  }
  t.equal((await post({ queries: Array.from({ length: 1000 }, () => 'mail') })).body.results.length, 1000)
  await app.close()
})

t.test('others are served while many queries are searched', async t => {
  const { app, post } = await gateway()
  const tools = Array.from({ length: 2000 }, (_, n) => ({ name: `tool_${n}`, description: `a b c mail order ${n}` }))
  let done = false
  const many = post(
    { tools, queries: Array.from({ length: 1000 }, (_, n) => `/${n}.*[a-z]{3}.*mail/`) },
    { 'x-role': 'admin' }
  ).finally(() => {
    done = true
  })
  let served = 0
  while (!done) {
    await post({ query: 'mail' })
    served++
  }
  t.equal((await many).status, 200)
  t.ok(served > 5, `${served} other searches were answered meanwhile`)
  await app.close()
})
