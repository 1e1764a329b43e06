import t from 'tap'
import { summaryMessage } from '../../src/advisors/memory-summary.ts'
import type { Message } from '../../src/core/chat.ts'
import { bench, call, catalog, client, play, result, search, session, told } from '../helper/search-bench.ts'

t.test('the model is shown the search tool only, then what it has found, appended in order of discovery', async t => {
  const {
    tools,
    seen,
    told: events
  } = await play(await bench(), [
    { calls: [search('stock warehouse')] },
    { calls: [search('invoice create')] },
    { calls: [call('warehouse_stock_level')] },
    { text: 'There are 17.' }
  ])
  t.strictSame(tools, [
    ['toolSearchTool'],
    ['toolSearchTool', 'warehouse_stock_level'],
    ['toolSearchTool', 'warehouse_stock_level', 'invoice_create'],
    ['toolSearchTool', 'warehouse_stock_level', 'invoice_create']
  ])
  t.equal(result(seen[1]), '["warehouse_stock_level"]')
  t.equal(result(seen[3]), '17')
  t.match(told(events, 'search'), [
    { round: 1, index: 'regex', form: 'keywords', found: ['warehouse_stock_level'] },
    { round: 2, found: ['invoice_create'] }
  ])
  t.strictSame(
    told(events, 'revealed').map(({ names }) => names),
    [['warehouse_stock_level'], ['invoice_create']]
  )
  t.ok(told(events, 'definitions.saved').every(({ tokens }) => tokens > 1000 && tokens < 5000))
  t.equal(told(events, 'definitions.saved').length, 4)
})

t.test('what was found stays in the session: over turns, evictions and restarts', async t => {
  const first = await bench()
  await play(first, [{ calls: [search('stock warehouse')] }, { text: 'ok' }])
  t.strictSame((await play(first, [{ text: 'ok' }])).tools, [['toolSearchTool', 'warehouse_stock_level']])
  first.finder.evict('key-of-s1', 'api')
  t.strictSame((await play(first, [{ text: 'ok' }])).tools, [['toolSearchTool', 'warehouse_stock_level']])
  const restarted = await bench({}, first.stores)
  t.strictSame((await play(restarted, [{ text: 'ok' }])).tools, [['toolSearchTool', 'warehouse_stock_level']])
  t.strictSame((await play(restarted, [{ text: 'ok' }], { session: session('s2') })).tools, [['toolSearchTool']])
})

t.test('a found tool that is not attached now is neither shown nor callable, and is there again later', async t => {
  const own = await bench()
  await play(own, [{ calls: [search('stock warehouse')] }, { text: 'ok' }])
  const without = catalog.filter(({ name }) => name !== 'warehouse_stock_level')
  const { tools, seen } = await play(own, [{ calls: [call('warehouse_stock_level')] }, { text: 'ok' }], {
    tools: without
  })
  t.strictSame(tools, [['toolSearchTool'], ['toolSearchTool']])
  t.match(result(seen[1]), /There is no tool named warehouse_stock_level/)
  t.strictSame((await play(own, [{ text: 'ok' }])).tools, [['toolSearchTool', 'warehouse_stock_level']])
})

t.test('a tool found in a batch can be called from the next round, not in the same', async t => {
  const { seen, tools } = await play(await bench(), [
    { calls: [search('stock warehouse'), call('warehouse_stock_level')] },
    { calls: [call('warehouse_stock_level')] },
    { text: 'ok' }
  ])
  t.match(result(seen[1]), /There is no tool named warehouse_stock_level. Available: toolSearchTool./)
  t.equal(result(seen[2]), '17')
  t.strictSame(tools[1], ['toolSearchTool', 'warehouse_stock_level'])
})

t.test('with accumulate off only the latest round that searched counts, with all its searches', async t => {
  const own = await bench()
  const policy = { accumulate: false }
  const { tools } = await play(
    own,
    [
      { calls: [search('warehouse stock level'), search('invoice create')] },
      { calls: [call('invoice_create')] },
      { calls: [search('mail send')] },
      { text: 'ok' }
    ],
    { policy }
  )
  t.strictSame(tools, [
    ['toolSearchTool'],
    ['toolSearchTool', 'warehouse_stock_level', 'invoice_create'],
    ['toolSearchTool', 'warehouse_stock_level', 'invoice_create'],
    ['toolSearchTool', 'mail_send']
  ])
  const next = await play(own, [{ calls: [search('zebra')] }, { text: 'ok' }], { policy })
  t.strictSame(next.tools, [['toolSearchTool', 'mail_send'], ['toolSearchTool']], 'the next turn begins where it ended')
  t.strictSame((await play(own, [{ text: 'ok' }], { policy })).tools, [['toolSearchTool']], 'nothing found counts too')
  t.strictSame(
    (await play(own, [{ text: 'ok' }])).tools,
    [['toolSearchTool', 'warehouse_stock_level', 'invoice_create', 'mail_send']],
    'all of it is still known'
  )
})

t.test(
  'client tools come after the search tool, then pinned ones in order of registration, then found ones',
  async t => {
    const tools = [
      client('ask_user'),
      ...catalog.map(tool =>
        tool.name === 'mail_send' || tool.name === 'clock_now' ? { ...tool, alwaysVisible: true } : tool
      ),
      client('open_tab')
    ]
    const played = await play(
      await bench(),
      [{ calls: [search('select:mail_send,order_find', { maxResults: 5 })] }, { text: 'ok' }],
      { tools, policy: { maxResults: 5 } }
    )
    t.strictSame(played.tools, [
      ['toolSearchTool', 'ask_user', 'open_tab', 'clock_now', 'mail_send'],
      ['toolSearchTool', 'ask_user', 'open_tab', 'clock_now', 'mail_send', 'order_find']
    ])
    t.equal(result(played.seen[1]), '["mail_send","order_find"]', 'a pinned tool can be found')
    t.strictSame(told(played.told, 'revealed')[0]?.names, ['order_find'], 'but needs no revealing')
  }
)

t.test('with nothing to search there is neither search tool nor suffix', async t => {
  const pinned = catalog.slice(0, 2).map(tool => ({ ...tool, alwaysVisible: true }))
  for (const tools of [[], [client('a')], pinned]) {
    const { tools: shown, seen } = await play(await bench(), [{ text: 'ok' }], { tools })
    t.strictSame(shown, [tools.map(({ name }) => name)])
    t.strictSame(
      seen[0]?.prompt.messages.map(({ role }) => role),
      ['user']
    )
  }
})

t.test('a client tool with the name of the search tool wins, and the answer says so', async t => {
  const { tools, told: events } = await play(await bench(), [{ text: 'ok' }], {
    tools: [...catalog, client('toolSearchTool')]
  })
  t.strictSame(tools, [['toolSearchTool']])
  t.strictSame(told(events, 'note'), [{ type: 'note', note: 'shadowed:toolSearchTool' }])
})

t.test('the suffix is appended to the first system message as it is, or is one of its own', async t => {
  const own = await bench()
  const systemOf = async (messages: readonly Message[]) => {
    const { seen } = await play(own, [{ text: 'ok' }], { messages })
    return seen[0]?.prompt.messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  }
  t.strictSame(await systemOf([]), ['\nSuffix.'])
  t.strictSame(await systemOf([{ role: 'system', id: 'a', content: 'You are a clerk.' }]), [
    'You are a clerk.\nSuffix.'
  ])
  t.strictSame(
    await systemOf([
      { role: 'system', id: 'a', content: [{ type: 'text', text: 'One.' }] },
      { role: 'system', id: 'b', content: 'Two.' }
    ]),
    [
      [
        { type: 'text', text: 'One.' },
        { type: 'text', text: '\nSuffix.' }
      ],
      'Two.'
    ]
  )
  const summary = summaryMessage({ text: 'The notes.', upTo: 'turn_1' })
  t.strictSame(await systemOf([summary]), ['\nSuffix.', summary.content], 'a summary is a record, nothing to add to')
  const silent = await bench({ systemSuffix: '' })
  const { seen } = await play(silent, [{ text: 'ok' }])
  t.strictSame(
    seen[0]?.prompt.messages.map(({ role }) => role),
    ['user'],
    'an empty suffix is none'
  )
  const named = await bench({ systemSuffix: undefined, toolName: 'find_tools' })
  const builtIn = (await play(named, [{ text: 'ok' }])).seen[0]?.prompt.messages[0]?.content
  t.match(builtIn, /find_tools/, 'the built-in sentence names the tool')
})

t.test('the prompt that goes back to memory has neither suffix nor search tool in it', async t => {
  const { answer } = await play(await bench(), [{ calls: [search('mail send')] }, { text: 'ok' }])
  t.strictSame(
    answer.messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant']
  )
})

t.test('a tool that tool_choice names is offered, and stays for the turn', async t => {
  const params = { tool_choice: { type: 'function', function: { name: 'order_find' } } }
  const own = await bench()
  await play(own, [{ calls: [search('stock warehouse')] }, { text: 'ok' }])
  const { tools } = await play(own, [{ calls: [search('invoice create')] }, { text: 'ok' }], { params })
  t.strictSame(tools, [
    ['toolSearchTool', 'warehouse_stock_level', 'order_find'],
    ['toolSearchTool', 'warehouse_stock_level', 'order_find', 'invoice_create']
  ])
  t.strictSame((await own.stores.sessions.get('key-of-s1'))?.revealed, ['warehouse_stock_level', 'invoice_create'])
  const allowed = {
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [params.tool_choice] } }
  }
  const other = await play(own, [{ text: 'ok' }], { params: allowed, session: session('s9') })
  t.strictSame(other.tools, [['toolSearchTool', 'order_find']])
})

t.test(
  'auto goes by the size of the definitions, is decided once a session, and costs nothing without tools',
  async t => {
    const policy = { mode: 'auto' } as const
    const bytes = catalog.reduce((sum, { name, description, parameters }) => {
      return sum + JSON.stringify({ type: 'function', function: { name, description, parameters } }).length
    }, 0)
    const [at, below] = [Math.ceil(bytes / 4), Math.ceil(bytes / 4) - 1]
    const off = await bench({ autoMinTokens: at })
    const all = catalog.map(({ name }) => name)
    t.strictSame((await play(off, [{ text: 'ok' }], { policy })).tools, [all], 'not beyond the bound')
    const on = await bench({ autoMinTokens: below }, off.stores)
    t.strictSame((await play(on, [{ text: 'ok' }], { policy })).tools, [all], 'kept for the session')
    t.strictSame((await play(on, [{ text: 'ok' }], { policy, session: session('s2') })).tools, [['toolSearchTool']])
    t.strictSame(
      (await play(off, [{ text: 'ok' }], { policy, session: session('s2') })).tools,
      [['toolSearchTool']],
      'kept for the session'
    )
    await play(on, [{ text: 'ok' }], { policy, session: session('s3'), tools: [] })
    t.equal(await on.stores.sessions.get('key-of-s3'), undefined)
  }
)

t.test('a session the gateway made up is written only when something was found in it', async t => {
  const own = await bench({ autoMinTokens: 1 })
  const asked = { policy: { mode: 'auto' as const }, session: session('sess_1', false) }
  await play(own, [{ calls: [search('zebra')] }, { text: 'ok' }], asked)
  t.equal(await own.stores.sessions.get('key-of-sess_1'), undefined)
  await play(own, [{ calls: [search('mail send')] }, { text: 'ok' }], asked)
  t.match(await own.stores.sessions.get('key-of-sess_1'), { revealed: ['mail_send'], searchMode: 'on' })
  const later = await play(own, [{ text: 'ok' }], { policy: { mode: 'auto' }, session: session('sess_1') })
  t.strictSame(later.tools, [['toolSearchTool', 'mail_send']])
})

t.test('off shows everything as it came', async t => {
  const { tools, seen } = await play(await bench(), [{ text: 'ok' }], { policy: { mode: 'off' } })
  t.strictSame(tools, [catalog.map(({ name }) => name)])
  t.strictSame(
    seen[0]?.prompt.messages.map(({ role }) => role),
    ['user']
  )
})
