import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Searchable } from '../../../src/core/finder.ts'
import { buildIndex } from '../../../src/tools/index/tool-index.ts'
import { words } from '../../../src/tools/index/words.ts'

const catalog: Searchable[] = JSON.parse(readFileSync('test/cases/loop/catalog-28.json', 'utf8'))
const names = (index: ReturnType<typeof buildIndex>, query: string, maxResults = 5, group?: string) =>
  index.search(query, { maxResults, ...(group !== undefined && { group }) }).results.map(({ name }) => name)
const form = (index: ReturnType<typeof buildIndex>, query: string) => index.search(query, { maxResults: 5 }).form
const tool = (name: string, description = '', more: Partial<Searchable> = {}): Searchable => ({
  name,
  description,
  ...more
})

t.test('words are split at case, separators and digits, and CJK characters stand alone', async t => {
  t.same(words('getOrderDetails_v2'), ['get', 'order', 'details', 'v', '2'])
  t.same(words('HTTPServerID x-ray, e.g.'), ['http', 'server', 'id', 'x', 'ray', 'e', 'g'])
  t.same(words('搜索bing结果'), ['搜', '索', 'bing', '结', '果'])
  t.same(words('étéIndien ＦＵＬＬ１２'), ['été', 'indien', 'full', '12'])
  t.same(words('한국어 검색'), ['한국어', '검색'])
  t.same(words('  ---  '), [])
  t.same(words(''), [])
})

t.test('lexical finds by stem, synonym, parameter name and parameter description', async t => {
  const index = buildIndex('lexical', [
    tool('reports', 'Quarterly figures'),
    tool('track_parcel', 'Where a parcel is'),
    tool('remove_row', 'Takes a row out'),
    tool('lookup', 'Looks a thing up', {
      parameters: { type: 'object', properties: { iban: { type: 'string', description: 'Account of the creditor' } } }
    })
  ])
  t.equal(names(index, 'tracking parcels')[0], 'track_parcel', 'stems')
  t.equal(names(index, 'delete')[0], 'remove_row', 'synonym')
  t.same(index.search('iban', { maxResults: 1 }).results[0]?.matched, ['parameters'])
  t.equal(names(index, 'creditor')[0], 'lookup')
  t.same(names(index, 'zebra'), [], 'nothing fits')
  t.same(names(index, 'the of and'), [], 'nothing but stop words')
  t.same(names(index, '   '), [], 'blank')
})

t.test('words that only look alike are not merged by stemming', async t => {
  const index = buildIndex('lexical', [tool('make_new_thing', 'new'), tool('daily', 'Reads the news')])
  t.same(names(index, 'news'), ['daily'])
})

t.test('equal scores stand in order of registration, and the same query gives the same answer', async t => {
  const many = Array.from({ length: 40 }, (_, n) => tool(`same_${String.fromCharCode(97 + (n % 26))}${n}`, 'a parrot'))
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, many)
    const expected = many.slice(0, 7).map(({ name }) => name)
    t.same(names(index, 'parrot', 7), expected, kind)
    t.same(names(index, 'parrot', 7), expected, `${kind} again`)
  }
})

t.test('regex counts whole words, 2 in a name and 1 in a description, any word', async t => {
  const index = buildIndex('regex', catalog)
  const found = index.search('stock warehouse', { maxResults: 3 })
  t.same(
    found.results.map(({ name, score }) => [name, score]),
    [
      ['warehouse_stock_level', 6],
      ['warehouse_reserve', 3],
      ['warehouse_move', 2]
    ]
  )
  t.same(found.results[0]?.matched, ['name', 'description'])
  t.same(names(index, 'ware'), [], 'a fragment is no word')
  t.same(names(index, 'zebra'), [])
  t.same(names(index, ' ', 3), ['warehouse_stock_level', 'warehouse_reserve', 'warehouse_move'], 'blank: the first')
  t.same(names(index, '?!'), [], 'not blank, but no word')
})

t.test('an exact name wins over every score, by full name or last segment, case and separators ignored', async t => {
  const filler = Array.from({ length: 30 }, (_, n) => tool(`order_tool_${n}`, 'get order details of an order'))
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, [
      ...filler,
      tool('shop__getOrder', 'x'),
      tool('get_order', 'y'),
      tool('GetOrder', 'z')
    ])
    t.equal(names(index, 'get_order')[0], 'get_order', kind)
    t.equal(names(index, 'GetOrder')[0], 'GetOrder', `${kind}: as spelled`)
    t.equal(names(index, 'shop  get order')[0], 'shop__getOrder', `${kind}: other separators`)
    t.equal(form(index, 'get order'), 'names', kind)
    t.same(names(index, 'order_tool_3 shop__getOrder', 2).sort(), ['order_tool_3', 'shop__getOrder'], 'two names')
    t.equal(form(index, 'order_tool_3, shop__getOrder'), 'names')
    t.equal(form(index, 'what does order_tool_3 do'), 'keywords', 'a name among words')
    t.equal(names(index, 'what does order_tool_3 do')[0], 'order_tool_3')
  }
})

t.test('a word at the end of a sentence is no name', async t => {
  const index = buildIndex('lexical', [
    tool('shop.order', 'Pizza'),
    tool('cancel_thing', 'Cancels an order for a customer')
  ])
  t.equal(names(index, 'Please cancel this for my customer, the order.')[0], 'cancel_thing')
})

t.test('select takes these tools only, in the order asked for', async t => {
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, catalog)
    t.same(names(index, 'select:mail_send, Order-Find,nothing'), ['mail_send', 'order_find'], kind)
    t.same(names(index, 'select:mail send'), ['mail_send'], kind)
    t.same(names(index, 'select:zebra'), [], kind)
    t.same(names(index, 'select:mail_send,order_find', 1), ['mail_send'], kind)
    t.equal(form(index, 'select:mail_send'), 'names')
  }
})

t.test('a term with + must be in the name', async t => {
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, catalog)
    t.same(names(index, '+mail find customer').toSorted(), ['mail_search', 'mail_send'], kind)
    t.equal(names(index, '+mail send')[0], 'mail_send', `${kind}: all words rank`)
    t.same(names(index, '+room +reserve'), ['room_reserve'], kind)
    t.same(names(index, '+zebra mail'), [], kind)
    t.equal(form(index, '+mail x'), 'required')
  }
  t.same(names(buildIndex('lexical', [tool('get_invoices', '')]), '+invoice'), ['get_invoices'], 'by its stem')
  t.same(names(buildIndex('lexical', [tool('to_do', ''), tool('other', 'to')]), '+to'), ['to_do'], 'a stop word')
})

t.test('a pattern is matched by names and descriptions, case ignored', async t => {
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, catalog)
    t.same(names(index, '/^MAIL_/'), ['mail_send', 'mail_search'], kind)
    t.equal(form(index, '/^mail_/'), 'pattern', kind)
    t.same(names(index, '/zebra.*/'), [], `${kind}: nothing fits, and nothing else is tried`)
    t.equal(form(index, '/(?=mail)/'), 'keywords', `${kind}: not linear, so not compiled`)
    t.equal(form(index, '/mail(/'), 'keywords', `${kind}: not valid`)
    t.equal(form(index, `/mail|${'x'.repeat(200)}/`), 'keywords', `${kind}: too long`)
    t.ok(names(index, '/mail(/').includes('mail_send'), `${kind}: its words are searched`)
  }
})

t.test('only the regex kind takes a bare pattern', async t => {
  for (const query of ['mail.*', '^mail', 'search$', '[m]ail', 'mail|room']) {
    t.equal(form(buildIndex('regex', catalog), query), 'pattern', query)
    t.equal(form(buildIndex('lexical', catalog), query), 'keywords', query)
  }
  t.same(names(buildIndex('regex', catalog), 'room_(list|reserve)'), ['room_list', 'room_reserve'])
})

t.test('no pattern holds the process up', async t => {
  // Letters that differ from text to text: the engine's own memory of states is of no help then.
  let seed = 1
  const letter = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return String.fromCharCode(97 + (seed % 26))
  }
  const text = () => Array.from({ length: 1024 }, letter).join('')
  const tools = Array.from({ length: 1500 }, (_, n) => tool(`${'a'.repeat(26)}_${n}`, text()))
  const index = buildIndex('regex', tools)
  for (const pattern of ['(a+)+$', '(a|aa)+!', '(.{0,50}e){15}', '(x+x+)+y', '.*[ae].{30}!', '((a{1,30}){1,30})!']) {
    const startedAt = performance.now()
    index.search(`/${pattern}/`, { maxResults: 5 })
    const took = performance.now() - startedAt
    t.ok(took < 10_000, `${pattern} took ${took.toFixed(0)} ms`)
  }
  t.equal(form(index, '/(.{0,50}e){15}/'), 'keywords', 'what took too long was read as keywords')
})

t.test('no query throws, however long or strange', async t => {
  const strange = [
    'x'.repeat(3_000_000),
    `${'data '.repeat(100_000)}`,
    Array.from({ length: 5000 }, (_, n) => `word${n}`).join(' '),
    '\u0000\u0007\ud800',
    '+',
    '+ + +',
    '/',
    '//',
    '/*/',
    'select:',
    'select:,,,',
    '__proto__ constructor toString',
    '+__proto__',
    'select:__proto__,constructor',
    '(((((',
    '🙂🙂',
    '|||'
  ]
  for (const kind of ['lexical', 'regex'] as const) {
    for (const tools of [catalog, [], [tool('constructor', 'toString __proto__')]]) {
      const index = buildIndex(kind, tools)
      for (const query of strange) {
        const startedAt = performance.now()
        t.ok(index.search(query, { maxResults: 5 }).results.length <= 5)
        t.ok(performance.now() - startedAt < 10_000, 'in bounded time')
      }
    }
  }
})

t.test('only the first 2,000 characters and 64 terms count', async t => {
  const letter = (n: number) => String.fromCharCode(97 + n)
  const strange = (count: number) => Array.from({ length: count }, (_, n) => `zq${letter(n % 26)}${letter(n / 26)}xj`)
  for (const kind of ['lexical', 'regex'] as const) {
    const index = buildIndex(kind, catalog)
    t.same(names(index, `${'x'.repeat(1990)} mail`)[0], 'mail_send', kind)
    t.same(names(index, `${'x'.repeat(1999)} mail`), [], kind)
    t.equal(names(index, `${strange(63).join(' ')} mail`)[0], 'mail_send', kind)
    t.same(names(index, `${strange(64).join(' ')} mail`), [], kind)
  }
})

t.test('a search can be kept to a group', async t => {
  const index = buildIndex('lexical', [
    tool('mail_send', 'Send a mail', { group: 'office' }),
    tool('send_money', 'Send money', { group: 'bank' }),
    tool('send', 'Send it')
  ])
  t.same(index.groups, ['bank', 'office'])
  t.same(names(index, 'send', 5, 'bank'), ['send_money'])
  t.equal(names(index, 'send').length, 3)
  t.same(names(buildIndex('regex', [tool('a'), tool('b', '', { group: 'x' })]), '', 5, 'x'), ['b'])
})

t.test('schemas of any shape can be indexed', async t => {
  const deep = (depth: number): object => (depth === 0 ? {} : { properties: { inner: deep(depth - 1) } })
  const shapes: unknown[] = [
    { properties: null },
    { properties: { a: null, b: 3, c: { enum: [1, 'alpha', null], description: 5 } } },
    { anyOf: {}, items: [] },
    { anyOf: [{ properties: { beta: {} } }] },
    { items: { properties: { gamma: { type: 'string' } } } },
    deep(2000)
  ]
  const index = buildIndex(
    'lexical',
    shapes.map((parameters, n) =>
      tool(`t${n}`, '', { parameters: parameters as NonNullable<Searchable['parameters']> })
    )
  )
  for (const [word, name] of [
    ['alpha', 't1'],
    ['beta', 't3'],
    ['gamma', 't4']
  ] as const) {
    t.same(names(index, word), [name])
  }
})
