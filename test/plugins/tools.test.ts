import t from 'tap'
import type { ToolCall } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { codeTool } from '../../src/plugins/code-tool.ts'
import type { CodeTool } from '../../src/plugins/define-tool.ts'
import { inTime } from '../../src/plugins/in-time.ts'
import { type ListedToolsSettings, listedTools } from '../../src/plugins/listed-tools.ts'
import { joinedTools } from '../../src/tools/joined-tools.ts'
import { aTurn, silent, toolbox } from '../helper/turn.ts'

const services = { log: silent, model: () => Promise.reject(new Error('no model')) as never }
const settings: ListedToolsSettings = { options: {}, services, maxModelBytes: 200, augment: [], reserved: ['finder'] }
const code = (name: string, run: CodeTool['run'], more: Partial<CodeTool> = {}): CodeTool => ({
  ...{ name, description: name, input_schema: { type: 'object' }, run },
  ...more
})
const callOf = (name: string, args = '{}'): ToolCall => ({ id: 'c1', name, arguments: args })
const ran = (tool: CodeTool, args?: string, turn = aTurn()) =>
  codeTool(tool as CodeTool<unknown>, settings).run?.(callOf(tool.name, args), turn)
const { principal } = aTurn()

t.test('a result goes to the model as it is: text as text, everything else as JSON', async t => {
  const given: [unknown, string][] = [
    ['plain', 'plain'],
    ['', ''],
    [{ a: [1, null] }, '{"a":[1,null]}'],
    [17, '17'],
    [0, '0'],
    [null, 'null'],
    [false, 'false'],
    [undefined, '(no content)']
  ]
  for (const [said, content] of given) t.match(await ran(code('x', () => said)), { status: 'ok', content })
  t.match(await ran(code('x', async () => 'later')), { content: 'later' })
  t.match(await ran(code('x', () => 'a'.repeat(300))), { content: /^a+… \[cut: \d+ of 300 bytes\]$/ })
})

t.test('a tool is told its arguments, the call, the turn and its options', async t => {
  const turn = aTurn()
  await ran(
    code('x', (args, context) => {
      t.same(args, { n: 1 })
      t.equal(context.turn, turn)
      t.equal(context.call.id, 'c1')
      t.same(context.options, {})
      t.equal(context.services, services)
    }),
    '{"n":1}',
    turn
  )
})

t.test('arguments that do not fit the schema are refused before the tool runs', async t => {
  const input_schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const tool = code('x', () => t.fail('it ran'), { input_schema })
  for (const args of ['{"n":"a"}', '{}', '[1]', 'no json']) {
    t.match(await ran(tool, args), { status: 'refused', code: 'tool_args_invalid', content: /The arguments of x/ })
  }
})

t.test('a failed tool is a result: the words of a GatewayError, and nothing of any other error', async t => {
  const words = code('x', () => {
    throw new GatewayError('tool_failed', 'There is no such article.')
  })
  t.match(await ran(words), { status: 'error', code: 'tool_error', content: 'There is no such article.' })
  const secret = code('x', async () => {
    throw new Error('password=hunter2')
  })
  t.match(await ran(secret), { status: 'error', code: 'tool_error', content: 'The tool x failed.' })
})

t.test('a tool that does not listen to the signal holds no turn up that is over', async t => {
  const client = new AbortController()
  const turn = aTurn({ signal: client.signal })
  const waiting = ran(
    code('x', () => new Promise(() => {})),
    '{}',
    turn
  )
  client.abort(new Error('gone'))
  await t.rejects(Promise.resolve(waiting), { message: 'gone' })
})

t.test('tools of a plugin are filtered by key, roles and request like all', async t => {
  const own = ['a', 'b', 'admin_only'].map(name => ({
    tool: codeTool(code(name, () => 1) as CodeTool<unknown>, settings),
    allowRoles: name === 'admin_only' ? ['admin'] : []
  }))
  const joined = joinedTools(
    { toolsFor: () => toolbox({ c: async () => ({ content: '', status: 'ok' }) }) },
    { tools: own, sources: [] }
  )
  const names = (...asked: Parameters<typeof joined.toolsFor>) => [...joined.toolsFor(...asked).keys()]
  t.same(names(principal), ['c', 'a', 'b'])
  t.same(names({ ...principal, roles: new Set(['admin']) }), ['c', 'a', 'b', 'admin_only'])
  t.same(names({ ...principal, tools: { allow: ['b', 'c'], deny: [] } }), ['c', 'b'])
  t.same(names({ ...principal, tools: { allow: ['*'], deny: ['b'] } }), ['c', 'a'])
  t.same(names(principal, { allow: ['a'] }), ['c', 'a'])
  t.same(names(principal, { deny: ['a'] }), ['c', 'b'])
})

t.test('the same tools are the same map, so that indexes are kept', async t => {
  const base = toolbox({ c: async () => ({ content: '', status: 'ok' }) })
  const source = listedTools({ name: 's', ttl_ms: 60_000, list: () => [code('a', () => 1)] }, settings)
  const joined = joinedTools({ toolsFor: () => base }, { tools: [], sources: [source] })
  await joined.refresh?.(principal)
  t.equal(joined.toolsFor(principal), joined.toolsFor(principal))
  t.equal(joinedTools({ toolsFor: () => base }, { tools: [], sources: [] }).toolsFor(principal), base)
})

t.test('of two tools of one name the plugin’s holds over a registered one, and that over a listed one', async t => {
  const base = toolbox({
    A: async () => ({ content: 'registered', status: 'ok' }),
    b: async () => ({ content: 'registered', status: 'ok' })
  })
  const own = [{ tool: codeTool(code('a', () => 1) as CodeTool<unknown>, settings), allowRoles: [] }]
  const source = listedTools(
    { name: 's', ttl_ms: 1000, list: () => [code('B', () => 1), code('a', () => 2), code('c', () => 3)] },
    settings
  )
  const joined = joinedTools({ toolsFor: () => base }, { tools: own, sources: [source] })
  await joined.refresh?.(principal)
  t.same([...joined.toolsFor(principal).keys()], ['b', 'a', 'c'])
  t.equal(joined.toolsFor(principal).get('a'), own[0]?.tool)
})

t.test('a tool source lists for each principal, once while its list holds', async t => {
  const asked: string[] = []
  const source = listedTools(
    {
      name: 's',
      ttl_ms: 60_000,
      async list({ key }) {
        asked.push(key)
        return [code(`of_${key}`, () => 1)]
      }
    },
    settings
  )
  const other = { ...principal, key: 'other' }
  t.same(source.toolsFor(principal), [], 'nothing before it was asked')
  await Promise.all([source.refresh(principal), source.refresh(principal), source.refresh(other)])
  await source.refresh(principal)
  t.same(asked, ['dev', 'other'])
  t.same(
    source.toolsFor(principal).map(({ tool }) => tool.name),
    ['of_dev']
  )
  t.same(
    source.toolsFor(other).map(({ tool }) => tool.name),
    ['of_other']
  )
})

t.test('a list that is over is asked for anew; when that fails, what was listed last stays', async t => {
  let lists = 0
  const source = listedTools(
    {
      name: 's',
      ttl_ms: 0,
      list() {
        if (++lists === 2) throw new Error('down')
        return [code(`list_${lists}`, () => 1)]
      }
    },
    settings
  )
  const names = () => source.toolsFor(principal).map(({ tool }) => tool.name)
  await source.refresh(principal)
  t.same(names(), ['list_1'])
  await source.refresh(principal)
  t.same(names(), ['list_1'], 'the second list failed')
  await source.refresh(principal)
  t.same(names(), ['list_3'])
})

t.test('listed tools that break the rules of registration are left out, and the log says why', async t => {
  const told: object[] = []
  const log = { ...silent, warn: (fields: object) => void told.push(fields) }
  const listed = [
    code('good', () => 1),
    code('no spaces', () => 1),
    code('finder', () => 1),
    code('odd', () => 1, { input_schema: { type: 'nothing' } }),
    {} as CodeTool
  ]
  const source = listedTools(
    { name: 's', ttl_ms: 1000, list: () => listed },
    { ...settings, services: { ...services, log } }
  )
  await source.refresh(principal)
  t.same(
    source.toolsFor(principal).map(({ tool }) => tool.name),
    ['good']
  )
  t.match(told, [
    { event: 'plugin.tool_left_out', tool: 'no spaces' },
    { tool: 'finder', reason: /reserved/ },
    { tool: 'odd' },
    { reason: /must be text/ }
  ])
})

t.test('what fails once nobody waits for it any more does no harm', async t => {
  const failing = () => new Promise<never>((_, reject) => setImmediate(() => reject(new Error('too late'))))
  await t.rejects(inTime(failing(), AbortSignal.abort(new Error('gone'))), { message: 'gone' })
  const client = new AbortController()
  const waiting = inTime(failing(), client.signal)
  client.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  // A rejection that nobody hears would end the process.
  await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(await inTime(Promise.resolve(1), new AbortController().signal), 1)
})

t.test('what a tool says of itself is what turns are given', async t => {
  const more = {
    ...{ group: 'g', always_visible: true, sequential: true, return_direct: true },
    annotations: { read_only: false, destructive: true, idempotent: true }
  }
  const { run: _, ...tool } = codeTool(code('x', () => 1, more) as CodeTool<unknown>, settings)
  t.strictSame(tool, {
    ...{ name: 'x', description: 'x', parameters: { type: 'object' }, kind: 'builtin' },
    ...{ group: 'g', alwaysVisible: true, sequential: true, returnDirect: true },
    annotations: { readOnly: false, destructive: true, idempotent: true }
  })
})

t.test('the model is asked for what every tool is to ask for, and the tool is not told of it', async t => {
  const input_schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false }
  const thought = { name: 'innerThought', schema: { type: 'string' }, required: true, forward: false }
  const told = { ...thought, name: 'why', forward: true }
  const tool = codeTool(code('x', args => args, { input_schema }) as CodeTool<unknown>, {
    ...settings,
    augment: [thought, told]
  })
  t.match(tool.parameters, { properties: { n: {}, innerThought: {}, why: {} }, required: ['innerThought', 'why'] })
  const args = '{"n":1,"innerThought":"hm","why":"so"}'
  t.match(await tool.run?.(callOf('x', args), aTurn()), { status: 'ok', content: '{"n":1,"why":"so"}' })
})
