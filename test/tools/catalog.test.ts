import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Tool, ToolCall } from '../../src/core/chat.ts'
import type { Principal } from '../../src/core/principal.ts'
import { openVault } from '../../src/stores/vault.ts'
import { type Catalog, type CatalogOptions, catalog } from '../../src/tools/catalog.ts'
import { toolDefaults } from '../../src/tools/definition.ts'
import { aToolStore } from '../helper/tool-store.ts'
import { silent } from '../helper/turn.ts'
import { anEgress, anEndpoint, answering, turnWith } from '../helper/webhook.ts'

const egress = anEgress()
t.teardown(() => egress.close())

const url = 'https://tools.example.com/hook'
const all = { allow: ['*'], deny: [] }
const admin: Principal = { tenant: 'a', key: 'k1', roles: new Set(['admin']), models: ['*'], tools: all }
const keeper: Principal = { ...admin, roles: new Set(['tool-admin']) }
const user: Principal = { ...admin, roles: new Set(['chat']) }
const named = (name: string, more: object = {}) => ({ name, description: `Does ${name}`, endpoint: { url }, ...more })

/** An error with these fields. */
function like(fields: object): Error {
  return fields as Error
}

async function aCatalog(
  t: Test,
  options: Partial<CatalogOptions> = {}
): Promise<Catalog & { again: () => Promise<Catalog> }> {
  const vault = await openVault(join(t.testdir(), 'kek'))
  const base = { store: aToolStore(), vault, egress, reserved: ['toolSearchTool'], log: silent, ...options }
  return { ...(await catalog(base)), again: () => catalog(base) }
}

t.test(
  'tools of the file come first and for all tenants, then those of the tenant in order of registration',
  async t => {
    const tools = await aCatalog(t)
    tools.declare([named('file_b'), named('file_a')])
    await tools.register(admin, named('zeta'))
    await tools.register(admin, named('alpha'))
    await tools.register({ ...admin, tenant: 'b' }, named('other'))
    t.strictSame([...tools.toolsFor(user).keys()], ['file_b', 'file_a', 'zeta', 'alpha'])
    t.strictSame([...tools.toolsFor({ ...user, tenant: 'b' }).keys()], ['file_b', 'file_a', 'other'])
    t.strictSame([...tools.toolsFor({ ...user, tenant: 'c' }).keys()], ['file_b', 'file_a'])
    t.strictSame([...tools.names()].sort(), ['alpha', 'file_a', 'file_b', 'other', 'zeta'])
  }
)

t.test('what a principal may use of what is attached', async t => {
  const tools = await aCatalog(t)
  tools.declare(['stock_level', 'stock_move', 'refund'].map(name => named(name)))
  tools.declare([named('pay', { allow_roles: ['finance'] })])
  const names = (who: Partial<Principal>, attached?: { allow?: string[]; deny?: string[] }) =>
    [...tools.toolsFor({ ...user, ...who }, attached).keys()].join()
  t.equal(names({}), 'stock_level,stock_move,refund')
  t.equal(names({ roles: new Set(['chat', 'finance']) }), 'stock_level,stock_move,refund,pay')
  t.equal(names({ tools: { allow: ['stock_*'], deny: ['*_move'] } }), 'stock_level')
  t.equal(names({ tools: { allow: [], deny: [] } }), '')
  t.equal(names({}, { allow: ['refund', 'pay'] }), 'refund', 'attaching gives no right')
  t.equal(names({}, { allow: [] }), '')
  t.equal(names({}, { deny: ['stock_*'] }), 'refund')
})

t.test('the same answer is the same Map until one of its tools changes', async t => {
  const tools = await aCatalog(t)
  tools.declare([named('one')])
  await tools.register(admin, named('two'))
  const first = tools.toolsFor(user)
  t.equal(tools.toolsFor({ ...user }), first)
  t.equal(tools.toolsFor({ ...user, tools: { allow: ['one', 'two'], deny: [] } }), first, 'other rights, same tools')
  await tools.register({ ...admin, tenant: 'b' }, named('elsewhere'))
  t.equal(tools.toolsFor(user), first, 'a change of another tenant')
  const version1 = first.get('two')
  await tools.replace(admin, 'two', named('two', { description: 'Now another' }))
  const second = tools.toolsFor(user)
  t.not(second, first)
  t.match(second.get('two'), { version: 2, description: 'Now another' })
  t.match(version1, { version: 1, description: 'Does two' }, 'a version never changes')
})

t.test('a registration is kept with its secrets and found again after a restart', async t => {
  const endpoint = await anEndpoint(answering(200, '"ok"'))
  t.teardown(() => endpoint.close())
  const store = aToolStore()
  const tools = await aCatalog(t, { store })
  const body = named('local', {
    auth: { type: 'bearer', secret: 'token-of-the-endpoint' },
    endpoint: { url: endpoint.url, egress_policy: 'internal' }
  })
  const registered = await tools.register(admin, body)
  t.match(registered, { name: 'local', version: 1, state: 'active', signing: { secret: /^whsec_/ }, flags: [] })
  t.notMatch(JSON.stringify(store.rows), /token-of-the-endpoint|whsec_/)

  const again = await tools.again()
  await callOf(again.toolsFor(user).get('local'))
  t.match(endpoint.requests[0]?.headers, { authorization: 'Bearer token-of-the-endpoint' })
  const shown = again.get(admin, 'local')
  t.match(shown, {
    auth: { type: 'bearer', last4: 'oint', secret_ref: 'local/auth' },
    signing: { secret_ref: 'local/signing' }
  })
  t.notMatch(JSON.stringify(shown), /token-of/)
  t.equal(again.get(user, 'local').endpoint, undefined, 'addresses are for those who may change them')

  store.rows[0] = { ...store.rows[0], name: 'stolen' } as (typeof store.rows)[0]
  await t.rejects(tools.again(), /do not open with this key file/)
})

async function callOf(tool: Tool | undefined, args = '{}'): Promise<unknown> {
  const call: ToolCall = { id: 'call_1', name: tool?.name ?? '', arguments: args }
  return tool?.run?.(call, turnWith(call, { principal: user }))
}

t.test('what a tool-admin registers waits for verification and is not offered', async t => {
  const tools = await aCatalog(t)
  t.match(await tools.register(keeper, named('mine')), { state: 'pending_verification' })
  t.equal(tools.toolsFor(user).size, 0)
  t.match(tools.get(keeper, 'mine'), { state: 'pending_verification' })
  t.throws(() => tools.get(user, 'mine'), { code: 'not_found' })
  t.match(await tools.replace(keeper, 'mine', named('mine')), { version: 2, state: 'pending_verification' })
  t.match(await tools.replace(admin, 'mine', named('mine')), { version: 3, state: 'active' })
  t.match(await tools.replace(keeper, 'mine', named('mine', { title: 'x' })), { state: 'active' }, 'same address')
  const moved = named('mine', { endpoint: { url: 'https://other.example.com/' } })
  t.match(await tools.replace(keeper, 'mine', moved), { state: 'pending_verification' })
})

t.test('names are unique ignoring case, and a tool of the file is not changed over the API', async t => {
  const tools = await aCatalog(t)
  tools.declare([named('declared')])
  await tools.register(admin, named('Stock'))
  const rejections: readonly [Promise<unknown>, object][] = [
    [tools.register(admin, named('stock')), { code: 'tool_name_taken', detail: { reason: 'collision' } }],
    [tools.register(admin, named('DECLARED')), { code: 'tool_name_taken' }],
    [tools.replace(admin, 'declared', named('declared')), { code: 'declared_in_file' }],
    [tools.replace(admin, 'nosuch', named('nosuch')), { code: 'not_found' }],
    [tools.replace(admin, 'stock', named('stock')), { code: 'not_found' }],
    [tools.replace(admin, 'Stock', named('Other')), { code: 'invalid_request', detail: { param: 'name' } }],
    [tools.replace(admin, 'Stock', named('Stock'), 7), { code: 'version_conflict' }],
    [tools.register(keeper, named('x', { tenant: 'b' })), { code: 'role_required' }]
  ]
  for (const [promise, error] of rejections) await t.rejects(promise, like(error))
  t.throws(() => tools.declare([named('declared2'), named('Declared')]), like({ detail: { param: 'tools[1].name' } }))
  t.match(await tools.replace(admin, 'Stock', { endpoint: { url } }, 1), { version: 2 }, 'the name may be left out')
  await tools.register(admin, named('elsewhere', { tenant: 'b' }))
  t.ok(tools.toolsFor({ ...user, tenant: 'b' }).has('elsewhere'))
})

t.test('a credential stays with the address it was given for', async t => {
  const tools = await aCatalog(t)
  const auth = { type: 'bearer', secret: 'token-of-the-endpoint' }
  await t.rejects(
    tools.register(admin, named('x', { auth: { type: 'bearer' } })),
    like({ detail: { param: 'auth.secret' } })
  )
  await tools.register(admin, named('x', { auth }))
  t.match(await tools.replace(admin, 'x', named('x', { auth: { type: 'bearer' } })), { version: 2 })
  const elsewhere = { url: 'https://attacker.example.com/' }
  const again = like({ code: 'credential_must_be_resupplied', detail: { reason: 'credential_must_be_resupplied' } })
  await t.rejects(tools.replace(admin, 'x', named('x', { auth: { type: 'bearer' }, endpoint: elsewhere })), again)
  const header = { auth: { type: 'header', name: 'x-key' } }
  await t.rejects(tools.replace(admin, 'x', named('x', header)), again)
  t.match(await tools.replace(admin, 'x', named('x', { auth, endpoint: elsewhere })), { version: 3 })
  t.match(
    await tools.replace(admin, 'x', named('x', { endpoint: { url }, auth: { type: 'none' } })),
    { version: 4 },
    'no credential, none to lose'
  )
})

t.test('who gives no auth keeps the credential there is', async t => {
  const endpoint = await anEndpoint(answering(204))
  t.teardown(() => endpoint.close())
  const tools = await aCatalog(t)
  const place = { url: endpoint.url, egress_policy: 'internal' }
  const sent = async () => {
    await callOf(tools.toolsFor(user).get('x'))
    return endpoint.requests.at(-1)?.headers['x-key']
  }
  await tools.register(admin, named('x', { endpoint: place, auth: { type: 'header', name: 'x-key', secret: 'abc' } }))
  await tools.replace(admin, 'x', named('x', { endpoint: place, title: 'X' }))
  t.equal(await sent(), 'abc')
  const doubled = named('x', { endpoint: { ...place, headers: { 'X-Key': 'y' } } })
  await t.rejects(tools.replace(admin, 'x', doubled), like({ detail: { reason: 'header_invalid' } }))
  const moved = named('x', { endpoint: { ...place, url: `${endpoint.url}other` } })
  await t.rejects(
    tools.replace(admin, 'x', moved),
    like({ code: 'credential_must_be_resupplied', detail: { reason: 'credential_must_be_resupplied' } })
  )
  await tools.replace(admin, 'x', named('x', { endpoint: place, auth: { type: 'none' } }))
  t.equal(await sent(), undefined)
  t.match(await tools.replace(admin, 'x', moved), { version: 4 }, 'nothing is left to be given again')
})

t.test('a tool goes to a tenant that there is, or nowhere', async t => {
  const tools = await aCatalog(t, { tenants: new Set(['default', 'a', 'b']) })
  const elsewhere = named('x', { tenant: 'b' })
  await t.rejects(tools.register(keeper, elsewhere), like({ code: 'role_required', detail: { param: 'tenant' } }))
  await tools.register(admin, elsewhere)
  t.ok(tools.toolsFor({ ...user, tenant: 'b' }).has('x'))
  t.notOk(tools.toolsFor(user).has('x'))
  const unknown = like({ code: 'invalid_request', detail: { param: 'tenant' } })
  await t.rejects(tools.register(admin, named('y', { tenant: 'nosuch' })), unknown)
  await t.rejects(tools.replace(admin, 'x', named('x', { tenant: 'nosuch' })), unknown)
})

t.test('an endpoint that is gone for good takes its tool out until somebody changes it', async t => {
  const endpoint = await anEndpoint(answering(410))
  t.teardown(() => endpoint.close())
  const store = aToolStore()
  const tools = await aCatalog(t, { store })
  const body = named('old', { endpoint: { url: endpoint.url, egress_policy: 'internal' } })
  await tools.register(admin, body)
  t.match(await callOf(tools.toolsFor(user).get('old')), { code: 'tool_gone' })
  t.equal(tools.toolsFor(user).size, 0)
  t.match(tools.get(admin, 'old'), { state: 'disabled' })
  t.equal((await tools.again()).toolsFor(user).size, 0, 'after a restart too')
  await tools.replace(admin, 'old', body)
  t.equal(tools.toolsFor(user).size, 1)
})

t.test("arguments must not carry another tool's secret away", async t => {
  const endpoint = await anEndpoint(answering(204))
  t.teardown(() => endpoint.close())
  const tools = await aCatalog(t)
  const place = { url: endpoint.url, egress_policy: 'internal' }
  await tools.register(admin, named('one', { endpoint: place }))
  const { signing } = await tools.register(
    admin,
    named('two', { auth: { type: 'bearer', secret: 'token-number-two' } })
  )
  const call = (args: string) => callOf(tools.toolsFor(user).get('one'), args)
  t.match(await call('{"q":"token-number-two"}'), { code: 'tool_args_invalid' })
  t.match(await call(JSON.stringify({ q: signing?.secret })), { code: 'tool_args_invalid' })
  t.match(await call('{"q":"token-number-three"}'), { status: 'ok' })
})

t.test('lists are paged', async t => {
  const tools = await aCatalog(t)
  tools.declare(['a', 'b', 'c'].map(name => named(name)))
  const first = tools.list(user, { limit: 2 })
  t.match(first, { data: [{ name: 'a' }, { name: 'b' }], nextCursor: 'b' })
  const last = tools.list(user, { limit: 2, cursor: first.nextCursor })
  t.strictSame(
    last.data.map(({ name }) => name),
    ['c']
  )
  t.equal(last.nextCursor, undefined)
  t.throws(() => tools.list(user, { limit: 2, cursor: 'nosuch' }), {
    code: 'invalid_request',
    detail: { param: 'cursor' }
  })
})

t.test('tool_defaults hold where a tool says nothing', async t => {
  const defaults = {
    endpoint: { timeout_ms: 500 },
    result: { max_model_bytes: 100 },
    annotations: { open_world: true }
  }
  const tools = await aCatalog(t, { defaults })
  tools.declare([named('a'), named('b', { result: { max_model_bytes: 200 } })])
  t.match(tools.get(admin, 'a'), { endpoint: { timeout_ms: 500 }, result: { max_model_bytes: 100 } })
  t.match(tools.get(admin, 'b'), { result: { max_model_bytes: 200 }, annotations: { open_world: true } })
})

t.test('a credential is no default: it would go to whatever address a tenant registers', async t => {
  t.notOk(toolDefaults.safeParse({ auth: { type: 'bearer', secret: 'x'.repeat(20) } }).success)
  t.ok(toolDefaults.safeParse({ endpoint: { timeout_ms: 1000 } }).success)
})
