import { hkdfSync } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openVault } from '../../src/stores/vault.ts'

const owner = { tenant: 'a', object: 'stock_level' }

t.test('the key file is made once, for its owner only', async t => {
  const path = join(t.testdir(), 'data', 'kek')
  const vault = await openVault(path)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(Buffer.from(readFileSync(path, 'utf8'), 'base64').length, 32)
  const sealed = vault.seal(owner, { signing: 'whsec_x', auth: 'tökën' })
  t.notMatch(sealed, /whsec_x|tökën/)

  const again = await openVault(path)
  t.strictSame(again.open(owner, sealed), { signing: 'whsec_x', auth: 'tökën' })
  t.ok(again.derive('x').equals(vault.derive('x')))
  t.notOk(again.derive('x').equals(again.derive('y')))
  const master = Buffer.from(readFileSync(path, 'utf8'), 'base64')
  t.strictSame(again.derive('x'), Buffer.from(hkdfSync('sha256', master, '', 'loopgate:x', 32)), 'by HKDF')
})

t.test('of several that start at once all have the same key', async t => {
  const path = join(t.testdir(), 'kek')
  const vaults = await Promise.all(Array.from({ length: 5 }, () => openVault(path)))
  t.equal(new Set(vaults.map(vault => vault.derive('x').toString('hex'))).size, 1)
})

t.test('a sealed text opens for its own tenant, object and field only, and only as it is', async t => {
  const dir = t.testdir()
  const vault = await openVault(join(dir, 'kek'))
  const sealed = vault.seal(owner, { signing: 'one', auth: 'two' })
  const text = JSON.parse(sealed) as { k: string; f: Record<string, string> }
  t.throws(() => vault.open({ ...owner, tenant: 'b' }, sealed), 'a row of another tenant')
  t.throws(() => vault.open({ ...owner, object: 'other' }, sealed), 'a row of another tool')
  const swapped = { ...text, f: { signing: text.f.auth, auth: text.f.signing } }
  t.throws(() => vault.open(owner, JSON.stringify(swapped)), 'fields changed places')
  const bytes = Buffer.from(text.f.auth ?? '', 'base64')
  bytes[14] = (bytes[14] ?? 0) ^ 1
  t.throws(() => vault.open(owner, JSON.stringify({ ...text, f: { auth: bytes.toString('base64') } })), 'one bit')
  const other = await openVault(join(dir, 'other'))
  t.throws(() => other.open(owner, sealed), 'another key file')
  t.not(
    vault.seal(owner, { signing: 'one' }),
    vault.seal(owner, { signing: 'one' }),
    'nothing shows that two are equal'
  )
})

t.test('each tenant has a data key of its own, found again after a restart', async t => {
  const path = join(t.testdir(), 'kek')
  const vault = await openVault(path)
  const keyOf = (sealed: string) => (JSON.parse(sealed) as { k: string }).k
  const first = vault.seal(owner, { a: '1' })
  t.equal(keyOf(vault.seal({ ...owner, object: 'b' }, { a: '1' })), keyOf(first))
  t.not(keyOf(vault.seal({ ...owner, tenant: 'b' }, { a: '1' })), keyOf(first))
  const again = await openVault(path)
  again.open(owner, first)
  t.equal(keyOf(again.seal(owner, { a: '2' })), keyOf(first))
})

t.test('a key file that is none is refused', async t => {
  const path = join(t.testdir(), 'kek')
  writeFileSync(path, 'short')
  await t.rejects(openVault(path), { code: 'store_unavailable', message: /kek must hold 32 bytes in base64/ })
  await t.rejects(openVault(t.testdirName), { code: 'store_unavailable', message: /cannot be read: EISDIR/ })
})

t.test('a missing key file is not made anew where the store holds secrets', async t => {
  const path = join(t.testdir(), 'kek')
  await t.rejects(openVault(path, { holdsSecrets: true }), {
    code: 'store_unavailable',
    message: /kek is missing, but the store holds secrets .*put the file back, or name it as secrets\.key_file\.$/
  })
  t.notOk(existsSync(path))
  await openVault(path)
  await openVault(path, { holdsSecrets: true })
})

t.test('a key file that cannot be made is refused by name', async t => {
  const folder = join(t.testdir({ file: '' }), 'locked')
  mkdirSync(folder)
  chmodSync(folder, 0o500)
  const places = ['/proc/nosuch/deep/kek', join(t.testdirName, 'file/kek')]
  // Whoever is root writes there all the same.
  if (process.getuid?.() !== 0) places.push(join(folder, 'kek'))
  for (const place of places) {
    await t.rejects(
      openVault(place),
      { code: 'store_unavailable', message: /kek cannot be (?:made|read): E[A-Z]+/ },
      place
    )
  }
})
