import { createServer as createTls } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import type { Resolve } from '../../src/egress/connector.ts'
import { anEgress, anEndpoint, answering, aWebhook } from '../helper/webhook.ts'

// A certificate for tools.example.test, made for this test and good for nothing else.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggiRyNGzVfnBT0p7M
3481HFYF8nqtrtDzAmYTjcm/LcihRANCAARAGCl1gmmUqtJxKd67suf2sg0FCByB
YPBIvGPpJez4YRm5OvfuyU9nQ9q/JS3lvexl0RXuMc2C6Y+DTOPpkgOV
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBsTCCAVagAwIBAgIUOEolWI9UkkgrIlnAl9GIokwryMcwCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSdG9vbHMuZXhhbXBsZS50ZXN0MCAXDTI2MTEzMDE3MTUxM1oY
DzIxMjYxMTA2MTcxNTEzWjAdMRswGQYDVQQDDBJ0b29scy5leGFtcGxlLnRlc3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARAGCl1gmmUqtJxKd67suf2sg0FCByB
YPBIvGPpJez4YRm5OvfuyU9nQ9q/JS3lvexl0RXuMc2C6Y+DTOPpkgOVo3IwcDAd
BgNVHQ4EFgQU4svNKWhhgNKWxZs7gHCG2ixZBHMwHwYDVR0jBBgwFoAU4svNKWhh
gNKWxZs7gHCG2ixZBHMwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHREEFjAUghJ0b29s
cy5leGFtcGxlLnRlc3QwCgYIKoZIzj0EAwIDSQAwRgIhANjGsD7kg8VQiR8QH3VM
uqnHilYO06uvAgxCh3FCzddCAiEArssGyTl361cLkvpahUzklvqbU1hVwDIphyHo
xLci5eo=
-----END CERTIFICATE-----`

const blocked = {
  code: 'egress_blocked',
  content: 'The tool stock_level is not reachable.',
  status: 'error',
  attempts: 1
}
/** Public by its number, and nobody's. */
const PUBLIC = '2fff:ffff::1'
const at = (...addresses: string[]) => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
/** As if the loopback were the internet: everything but it is denied as ever. */
const lax = {
  public: { allowHttp: true, allowPrivate: false, ports: [] },
  internal: { allowHttp: true, allowPrivate: true, ports: [] }
}

/** Counts connections and bytes; nobody should come. */
async function aCanary(): Promise<{ port: number; connections: () => number; bytes: () => number; close: () => void }> {
  let connections = 0
  let bytes = 0
  const server = createServer(socket => {
    connections++
    socket.on('data', data => {
      bytes += data.length
    })
    socket.on('error', () => {})
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    bytes: () => bytes,
    close: () => server.close()
  }
}

t.test('a denied address is refused at connect, however it is written or looked up', async t => {
  const canary = await aCanary()
  t.teardown(canary.close)
  const answers: Record<string, readonly string[]> = {
    'loopback.example.com': ['127.0.0.1'],
    'mixed.example.com': [PUBLIC, '127.0.0.1'],
    'mixed6.example.com': ['2606:4700::1111', '::1'],
    'mapped.example.com': ['::ffff:127.0.0.1'],
    'nat64.example.com': ['64:ff9b::7f00:1'],
    'metadata.example.com': ['169.254.169.254']
  }
  const resolve: Resolve = async name => at(...(answers[name] ?? []))
  const egress = anEgress({ policies: lax, resolve })
  t.teardown(() => egress.close())
  const literals = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::ffff:7f00:1]',
    '[::1]',
    '169.254.169.254',
    '[64:ff9b::a9fe:a9fe]'
  ]
  // The connector alone is asked, as if the admission had let it through.
  const unjudged = { ...egress, judgeUrl: () => undefined }
  const body = { endpoint: { egress_policy: 'public' } }
  await Promise.all(
    [...literals, ...Object.keys(answers)].map(async host => {
      t.match(await aWebhook(`http://${host}:${canary.port}/`, body, { egress: unjudged }).call(), blocked, host)
    })
  )
  t.equal(canary.connections(), 0)
})

t.test('a name is looked up once a connection, and what was judged is what is connected to', async t => {
  const canary = await aCanary()
  t.teardown(canary.close)
  const sequence = [PUBLIC, '127.0.0.1']
  let asked = 0
  const resolve: Resolve = async () => at(sequence[Math.min(asked++, 1)] ?? '')
  const egress = anEgress({ policies: lax, resolve })
  t.teardown(() => egress.close())
  const url = `http://rebind.example.com:${canary.port}/`
  const { call } = aWebhook(url, { endpoint: { egress_policy: 'public', timeout_ms: 100 } }, { egress })
  const { attempts } = await call()
  t.equal(asked, attempts, 'a second look-up for one connection could answer otherwise')
  t.match(await call(), { ...blocked, attempts: Number })
  t.equal(canary.connections(), 0)
})

t.test('the address really reached is judged before the first byte, of TLS too', async t => {
  const canary = await aCanary()
  t.teardown(canary.close)
  // Passes when it is judged, and is another when it is used.
  let reads = 0
  const liar = {
    family: 4,
    get address() {
      return reads++ === 0 ? '8.8.8.8' : '127.0.0.1'
    }
  }
  const egress = anEgress({ policies: lax, resolve: async () => [liar] })
  t.teardown(() => egress.close())
  for (const scheme of ['http', 'https']) {
    reads = 0
    const url = `${scheme}://liar.example.com:${canary.port}/`
    t.match(await aWebhook(url, { endpoint: { egress_policy: 'public' } }, { egress }).call(), blocked, scheme)
  }
  t.equal(canary.connections(), 2)
  t.equal(canary.bytes(), 0)
})

t.test('a connection made under one policy never serves another', async t => {
  const endpoint = await anEndpoint(answering(200, '"secret"'))
  t.teardown(() => endpoint.close())
  const egress = anEgress({ policies: lax, resolve: async () => at('127.0.0.1') })
  t.teardown(() => egress.close())
  const url = `http://shared.example.com:${endpoint.port}/`
  t.match(await aWebhook(url, {}, { egress }).call(), { content: '"secret"' })
  t.match(await aWebhook(url, { endpoint: { egress_policy: 'public' } }, { egress }).call(), blocked)
  t.match(await aWebhook(url, {}, { egress }).call(), { content: '"secret"' })
  t.equal(endpoint.connections(), 1, 'within a policy it is used again')
})

t.test('refusals are told to the operator, and take as long as other failures may', async t => {
  const egress = anEgress()
  t.teardown(() => egress.close())
  const { call, told } = aWebhook(
    'http://127.0.0.1:9/',
    {},
    {
      egress: { ...egress, judgeUrl: () => undefined },
      services: { egress: { ...egress, judgeUrl: () => ({ reason: 'ip_denied', message: '' }) } }
    }
  )
  const started = performance.now()
  t.match(await call(), blocked)
  const ms = performance.now() - started
  t.ok(ms >= 45, `${ms} ms`)
  t.strictSame(told, ['blocked stock_level'])
})

t.test('TLS works through the guard, and checks the certificate against the name', async t => {
  setDefaultCACertificates([cert])
  const server = createTls({ key, cert }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('over TLS')
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const egress = anEgress({ resolve: async () => at('127.0.0.1') })
  t.teardown(() => egress.close())
  t.match(await aWebhook(`https://tools.example.test:${port}/`, {}, { egress }).call(), { content: 'over TLS' })
  const other = await aWebhook(`https://other.example.test:${port}/`, {}, { egress }).call()
  t.match(other, { code: 'tool_unreachable', attempts: 2 })
})

t.test('a look-up that fails is unreachable, a slow one stops at the deadline', async t => {
  const failing = anEgress({ resolve: () => Promise.reject(new Error('ENOTFOUND')) })
  const hanging = anEgress({ resolve: () => new Promise(() => {}) })
  t.teardown(() => Promise.all([failing.close(), hanging.close()]))
  t.match(await aWebhook('http://nosuch.example.com/', {}, { egress: failing }).call(), { code: 'tool_unreachable' })
  const { call } = aWebhook('http://slow.example.com/', { endpoint: { timeout_ms: 200 } }, { egress: hanging })
  t.match(await call(), { code: 'tool_timeout', content: 'The tool stock_level timed out.' })
})
