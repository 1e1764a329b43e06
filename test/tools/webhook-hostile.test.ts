import { type AddressInfo, createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { secretScan } from '../../src/tools/secret-scan.ts'
import { anEgress, anEndpoint, answering, aWebhook } from '../helper/webhook.ts'

const egress = anEgress()
t.teardown(() => egress.close())

/** A server that says what it likes once a request has come, and counts what was taken of it. */
async function aRawServer(
  act: (socket: Socket) => void
): Promise<{ url: string; close: () => void; closed: () => number }> {
  const sockets = new Set<Socket>()
  let closed = 0
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => closed++)
    socket.once('data', () => act(socket))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    closed: () => closed,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

const head = (...lines: string[]) => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`
const text = 'content-type: text/plain'
const json = 'content-type: application/json'

/** The socket, once it has been written to. */
function said(socket: Socket, what: string): Socket {
  socket.write(what)
  return socket
}

function every(ms: number, socket: Socket, what: string): void {
  const timer = setInterval(() => socket.write(what), ms)
  socket.once('close', () => clearInterval(timer))
}

/** Writes as fast as it is taken. */
function flood(socket: Socket, what: Buffer | string): void {
  while (socket.writable && socket.write(what));
  socket.once('drain', () => flood(socket, what))
}

t.test('what a hostile endpoint may do, and what comes of it', async t => {
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const unknown = { code: 'tool_outcome_unknown', status: 'unknown' }
  const rows: readonly [string, (socket: Socket) => void, object, object?][] = [
    [
      'a drip of bytes ends at the deadline',
      s => every(40, said(s, head(text, 'content-length: 10000')), 'x'),
      { code: 'tool_timeout' }
    ],
    [
      'a drip of JSON too',
      s => every(40, said(s, head(json, 'transfer-encoding: chunked')), '1\r\n1\r\n'),
      { code: 'tool_timeout' }
    ],
    [
      'endless early hints',
      s => every(20, s, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
      { code: 'tool_timeout' }
    ],
    ['silence', () => {}, { code: 'tool_timeout', content: 'The tool stock_level timed out. Its outcome is unknown.' }],
    [
      'silence of a read-only tool',
      () => {},
      { code: 'tool_timeout', content: 'The tool stock_level timed out.' },
      { annotations: { read_only: true } }
    ],
    [
      'an endless body of JSON',
      s => flood(said(s, head(json, 'transfer-encoding: chunked')), chunk),
      { code: 'tool_response_too_large' }
    ],
    [
      'an endless body of text is cut',
      s => flood(said(s, head(text, 'transfer-encoding: chunked')), chunk),
      { status: 'ok', content: /of more than 1048576 bytes\]$/ }
    ],
    [
      'an endless body of a failure',
      s => flood(said(s, 'HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n'), chunk),
      { code: 'tool_http_error' }
    ],
    [
      'a failure that drips',
      s => every(40, said(s, 'HTTP/1.1 404 X\r\ncontent-length: 999\r\n\r\n'), 'x'),
      { code: 'tool_misconfigured' }
    ],
    ['a failure cut short', s => s.end('HTTP/1.1 403 X\r\ncontent-length: 999\r\n\r\nx'), { code: 'tool_auth_failed' }],
    [
      'an upgrade nobody asked for',
      s => s.write('HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
      { code: 'tool_bad_response' }
    ],
    ['a header of 20 kB', s => s.write(head(text, `x: ${'a'.repeat(20_000)}`)), { code: 'tool_bad_response' }],
    [
      'endless header lines',
      s => flood(said(s, 'HTTP/1.1 200 OK\r\n'), 'a: b\r\n'.repeat(100)),
      { code: 'tool_bad_response' }
    ],
    [
      'two lengths',
      s => s.write(`${head(text, 'content-length: 3', 'content-length: 5')}abcde`),
      { code: 'tool_bad_response' }
    ],
    ['a body that is too short', s => s.end(`${head(text, 'content-length: 50')}abc`), unknown],
    [
      'a body that is too short, of a connection that ends',
      s => s.end(`${head(text, 'content-length: 50', 'connection: close')}abc`),
      unknown
    ],
    ['chunks that stop', s => s.end(`${head(text, 'transfer-encoding: chunked')}3\r\nabc\r\n`), unknown],
    [
      'chunks that stop, of a connection that ends',
      s => s.end(`${head(text, 'transfer-encoding: chunked', 'connection: close')}3\r\nabc\r\n`),
      unknown
    ],
    [
      'a reset within the body',
      s => s.write(`${head(json, 'content-length: 50')}[1`, () => setTimeout(() => s.resetAndDestroy(), 30)),
      unknown
    ],
    [
      'a body of a read-only tool that is too short',
      s => s.end(`${head(text, 'content-length: 50')}abc`),
      { code: 'tool_bad_response', status: 'error' },
      { annotations: { read_only: true } }
    ],
    ['no HTTP', s => s.end('SSH-2.0-OpenSSH_9.2\r\n'), { code: 'tool_bad_response' }],
    [
      'a reset after the request',
      s => s.resetAndDestroy(),
      { code: 'tool_outcome_unknown', status: 'unknown', content: /its outcome is unknown; check before repeating\.$/ }
    ],
    ['an end after the request', s => s.end(), { code: 'tool_outcome_unknown', attempts: 1 }]
  ]
  for (const [name, act, expected, body = {}] of rows) {
    const server = await aRawServer(act)
    const { call } = aWebhook(server.url, { ...body, endpoint: { timeout_ms: 300 } }, { egress })
    const started = performance.now()
    t.match(await call(), expected, name)
    t.ok(performance.now() - started < 10_000, `${name}: ends by the deadline, not by the endpoint`)
    await until(() => server.closed() === 1)
    server.close()
  }
})

t.test('a compressed bomb is never opened', async t => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  const endpoint = await anEndpoint(response => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb)
  })
  t.teardown(() => endpoint.close())
  t.match(await aWebhook(endpoint.url, {}, { egress }).call(), { code: 'tool_bad_response' })
})

t.test('no redirect is followed, also one that keeps method and body', async t => {
  const canary = await anEndpoint(answering(200, '"secret"'))
  t.teardown(() => canary.close())
  for (const status of [301, 302, 303, 307, 308]) {
    const endpoint = await anEndpoint(answering(status, '', '', { location: canary.url }))
    const { call } = aWebhook(endpoint.url, {}, { egress })
    t.match(await call(), { code: 'tool_redirect_refused', content: 'The tool stock_level failed.' }, String(status))
    await endpoint.close()
  }
  t.equal(canary.connections(), 0)
})

t.test('the client leaves: the call is aborted', async t => {
  const endpoint = await anEndpoint(() => {})
  t.teardown(() => endpoint.close())
  const leaving = new AbortController()
  const { call } = aWebhook(endpoint.url, {}, { egress })
  const calling = call('{}', { signal: leaving.signal })
  await until(() => endpoint.requests.length === 1)
  const gone = new Error('the client has gone')
  leaving.abort(gone)
  await t.rejects(calling, gone)
  await until(() => endpoint.aborted() === 1)
  await t.rejects(call('{}', { signal: leaving.signal }), gone, 'and no other is begun')
  t.equal(endpoint.requests.length, 1)
})

t.test('the client leaves: a call that changes something is finished, and the turn ends at once', async t => {
  let finished = false
  const mayAnswer = Promise.withResolvers<void>()
  const endpoint = await anEndpoint(async response => {
    await mayAnswer.promise
    response.writeHead(204).end(() => {
      finished = true
    })
  })
  t.teardown(() => endpoint.close())
  const leaving = new AbortController()
  const { call, definition } = aWebhook(endpoint.url, { annotations: { destructive: true } }, { egress })
  t.equal(definition.endpoint.on_disconnect, 'finish')
  const calling = call('{}', { signal: leaving.signal })
  await until(() => endpoint.requests.length === 1)
  leaving.abort(new Error('gone'))
  await t.rejects(calling, { message: 'gone' }, 'before the tool has answered')
  mayAnswer.resolve()
  await until(() => finished)
  t.equal(endpoint.aborted(), 0)
})

t.test('arguments with a registered secret, and too large ones, are not sent', async t => {
  const endpoint = await anEndpoint(answering(204))
  t.teardown(() => endpoint.close())
  const services = { leaks: () => secretScan(['whsec_c2VjcmV0c2VjcmV0c2VjcmV0', 'another "secret"']) }
  const { call } = aWebhook(endpoint.url, { endpoint: { max_request_bytes: 2000 } }, { egress, services })
  for (const args of [
    '{"a":"see whsec_c2VjcmV0c2VjcmV0c2VjcmV0"}',
    '{"a":"c2VjcmV0c2VjcmV0c2VjcmV0"}',
    JSON.stringify({ a: 'another "secret"' })
  ]) {
    t.match(await call(args), { status: 'refused', code: 'tool_args_invalid', content: /contain a secret/ }, args)
  }
  t.match(await call(JSON.stringify({ a: 'x'.repeat(2000) })), { status: 'refused', code: 'tool_args_invalid' })
  t.equal(endpoint.requests.length, 0)
  t.match(await call('{"a":"b"}'), { status: 'ok' })
})

t.test('many secrets are looked for in one pass', async t => {
  const secrets = Array.from({ length: 300 }, (_, n) => `credential-number-${n}-end`)
  const finds = secretScan(secrets)
  t.ok(finds('{"a":"x credential-number-299-end"}'))
  t.notOk(finds('{"a":"credential-number-300-end credential-number"}'))
  t.notOk(secretScan(['short'])('short'), 'a secret of a few letters would be found everywhere')
})

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000
  while (!condition()) {
    if (Date.now() > end) throw new Error('it did not come within 10 s')
    await new Promise(done => setTimeout(done, 5))
  }
}
