import t from 'tap'
import { pluggedGateway } from '../helper/plugged-gateway.ts'

interface Page {
  readonly data: readonly { readonly name: string }[]
  readonly next_cursor: string | null
}

const files = {
  'own.js': `export default { name: 'own_tool', description: 'Mine', input_schema: { type: 'object', properties: { a: {} } },
  annotations: { read_only: true }, group: 'g', run: () => 1 }`,
  'listed.js': `const tool = name => ({ name, description: name, input_schema: { type: 'object' }, run: () => 1 })
export default { name: 'listed', ttl_ms: 60000, list: () => [tool('listed_a'), tool('listed_b'), tool('denied')] }`
}
const keys = [
  { id: 'user', key: 'sk-user-0123456789', tools: { allow: ['*'], deny: ['denied'] } },
  { id: 'manager', key: 'sk-manager-0123456789', roles: ['chat', 'admin'] }
]
const endpoint = { url: 'https://tools.example.com/x' }
const config = {
  plugins: Object.keys(files),
  keys,
  tools: [
    { name: 'of_file', endpoint },
    { name: 'of_file_too', endpoint }
  ]
}

t.test('tools of plugins are listed after the others, page by page, as far as the key may use them', async t => {
  await using gateway = await pluggedGateway(t.testdir(files), config, () => ({}))
  const get = async (path: string, key = 'sk-user-0123456789') => {
    const response = await fetch(`${gateway.url}/v1/tools${path}`, { headers: { authorization: `Bearer ${key}` } })
    return (await response.json()) as Page
  }
  const names = ({ data }: Page) => data.map(({ name }) => name)
  const all = ['of_file', 'of_file_too', 'own_tool', 'listed_a', 'listed_b']
  t.same(names(await get('')), all)
  t.same(names(await get('', 'sk-manager-0123456789')), [...all, 'denied'])
  for (const limit of [1, 2, 3, 4]) {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await get(`?limit=${limit}${cursor}`)
      t.ok(page.data.length <= limit)
      seen.push(...names(page))
      if (page.next_cursor === null) break
      cursor = `&cursor=${page.next_cursor}`
    }
    t.same(seen, all, `in pages of ${limit}`)
  }
  t.match(await get('/own_tool'), {
    ...{ name: 'own_tool', version: 1, kind: 'builtin', state: 'active', source: 'plugin', description: 'Mine' },
    ...{ input_schema: { properties: { a: {} } }, annotations: { read_only: true }, group: 'g' }
  })
  t.match(await get('/of_file'), { kind: 'webhook', source: 'file' })
  t.match(await get('/denied'), { error: { code: 'not_found' } })
})

t.test('no tool can be registered by the name of one of a plugin', async t => {
  await using gateway = await pluggedGateway(t.testdir(files), config, () => ({}))
  const response = await fetch(`${gateway.url}/v1/tools`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-manager-0123456789', 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'OWN_tool', endpoint })
  })
  t.equal(response.status, 422)
  t.match(await response.json(), { error: { message: /reserved/ } })
})
