import { createHash } from 'node:crypto'
import t from 'tap'
import { isOwnHost } from '../../src/access/own-host.ts'
import { type KeyEntry, type PrincipalsOptions, principals } from '../../src/access/principals.ts'

const ADMIN = 'admin-key-of-16-chars'
const A = 'key-of-team-a-0123'
const B = 'key-of-team-b-0123'

const entry: KeyEntry = {
  id: 'team-a',
  key: A,
  tenant: 'a',
  roles: ['chat', 'finance'],
  models: ['m-*'],
  tools: { allow: ['stock_*'], deny: ['stock_drop'] }
}
const hashed: KeyEntry = {
  ...entry,
  id: 'team-b',
  key: undefined,
  key_sha256: createHash('sha256').update(B).digest('hex').toUpperCase()
}

function keyed(changes: Partial<PrincipalsOptions> = {}) {
  return principals({ mode: 'auto', development: false, adminKey: ADMIN, keys: [entry, hashed], ...changes })
}

t.test('a key is its principal, given as text or as its SHA-256', async t => {
  const all = keyed()
  t.match(all.of(A), {
    key: 'team-a',
    tenant: 'a',
    models: ['m-*'],
    tools: { allow: ['stock_*'], deny: ['stock_drop'] }
  })
  t.strictSame([...all.of(A).roles], ['chat', 'finance'])
  t.match(all.of(B), { key: 'team-b', tenant: 'a' })
})

t.test('the admin key has every role, also those only tools know', async t => {
  const { key, tenant, roles } = keyed().of(ADMIN)
  t.strictSame([key, tenant], ['admin', 'default'])
  t.ok(roles.has('tool-admin') && roles.has('metrics') && roles.has('finance'))
})

t.test('a missing or wrong key is refused', async t => {
  const all = keyed()
  for (const wrong of [undefined, `${A}x`, A.slice(0, -1), A.toUpperCase(), 'x'.repeat(100_000), ' ', 'ключ']) {
    t.throws(() => all.of(wrong), { code: 'invalid_api_key', status: 401 }, `${wrong?.slice(0, 20)}`)
  }
  t.throws(() => principals({ mode: 'keys', development: false, keys: [] }).of('any'), { code: 'invalid_api_key' })
})

t.test('in development mode everybody is dev, whatever key is sent', async t => {
  const all = principals({ mode: 'auto', development: true, keys: [] })
  for (const key of [undefined, 'sk-anything']) {
    t.match(all.of(key), { key: 'dev', tenant: 'default', models: ['*'] })
    t.ok(all.of(key).roles.has('admin') && all.of(key).roles.has('finance'))
  }
})

t.test('mode none: no key means anonymous who may chat, a wrong key is still wrong', async t => {
  const all = keyed({ mode: 'none' })
  t.match(all.of(undefined), { key: 'anonymous', tenant: 'default' })
  t.strictSame([...all.of(undefined).roles], ['chat'])
  t.equal(all.of(A).key, 'team-a')
  t.throws(() => all.of('wrong-key-wrong-key'), { code: 'invalid_api_key' })
  const none = principals({ mode: 'none', development: false, keys: [] })
  t.equal(none.of('what an SDK insists on').key, 'anonymous', 'where no key exists none is wrong')
})

t.test('a development server is its own host and origin only', async t => {
  for (const host of ['localhost', 'localhost:8080', '127.0.0.1:1', '[::1]:8080', 'LOCALHOST:8080']) {
    t.ok(isOwnHost(host, undefined), host)
  }
  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:80',
    '0.0.0.0:80',
    'localhost:8080@evil.example',
    '127.0.0.2',
    '[::2]',
    'localhost:',
    '10.0.0.1',
    'localhost:8080, evil.example'
  ]) {
    t.notOk(isOwnHost(host, undefined), String(host))
  }
  t.ok(isOwnHost('localhost:8080', 'http://localhost:8080'))
  t.ok(isOwnHost('localhost:8080', 'HTTP://LOCALHOST:8080'))
  for (const origin of [
    'http://localhost:3000',
    'http://localhost',
    'null',
    '',
    'http://evil.example',
    'http://127.0.0.1:8080'
  ]) {
    t.notOk(isOwnHost('localhost:8080', origin), origin)
  }
})
