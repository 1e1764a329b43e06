import { createServer } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { aTurn } from '../helper/turn.ts'
import { anEgress, anEndpoint, answering, aWebhook } from '../helper/webhook.ts'

const egress = anEgress()
t.teardown(() => egress.close())

t.test('a call is one signed POST of the contract form', async t => {
  const endpoint = await anEndpoint(answering(200, '{"units":17}'))
  t.teardown(() => endpoint.close())
  const { call, secret } = aWebhook(endpoint.url, { context: { allow: ['locale'] } }, { egress })
  const request = { id: 'req_9', hops: 1, context: { locale: 'de', salary: 1 } }
  const result = await call('{"sku":"BX-1","n":9007199254740993}', { request, round: 4 })

  t.match(result, { content: '{"units":17}', status: 'ok', attempts: 1, webhookId: /^tc_[0-9A-Za-z]{20,40}$/ })
  const [sent] = endpoint.requests
  t.ok(sent)
  if (sent === undefined) return
  t.match(sent.headers, {
    'content-type': 'application/json',
    accept: 'application/vnd.loopgate.tool-result+json, application/json, text/plain',
    'accept-encoding': 'identity',
    'webhook-id': result.webhookId,
    'idempotency-key': result.webhookId,
    prefer: 'wait=15',
    'x-gateway-hops': '2',
    traceparent: /^00-[0-9a-f]{32}-[0-9a-f]{16}-0\d$/
  })
  t.match(sent.body, /"arguments":\{"sku":"BX-1","n":9007199254740993\}/, 'digits are kept')
  const body = new Webhook(secret).verify(sent.body, sent.headers as Record<string, string>)
  t.match(body, {
    type: 'tool.call',
    version: '1',
    timestamp: /^\d{4}-.*Z$/,
    data: {
      call: {
        ...{ id: result.webhookId, tool: 'stock_level', tool_version: 3, provider_call_id: 'call_1' },
        ...{ iteration: 4, index: 0, attempt: 1, deadline: /Z$/ }
      },
      session: { id: 'ps_default_session-key-1' },
      request: { id: 'req_9' },
      tenant: { id: 'default' },
      user: { id: null },
      context: { locale: 'de' },
      approval: null,
      reply: null
    }
  })
  t.notMatch(sent.body, /salary/, 'only what the tool may have of the context')
})

t.test('the same place in a turn has the same id, another place another', async t => {
  const endpoint = await anEndpoint(answering(204))
  t.teardown(() => endpoint.close())
  const { call } = aWebhook(endpoint.url, {}, { egress })
  const ids = await Promise.all([call(), call(), call('{}', { round: 2 })].map(async each => (await each).webhookId))
  t.equal(ids[0], ids[1])
  t.not(ids[0], ids[2])
})

t.test('payload args sends the arguments alone and the rest in headers', async t => {
  const endpoint = await anEndpoint(answering(204))
  t.teardown(() => endpoint.close())
  const body = {
    ...{ auth: { type: 'header', name: 'x-api-key' }, context: { allow: ['who'] } },
    endpoint: { payload: 'args', headers: { 'x-team': 'a' } }
  }
  const { call, secret } = aWebhook(endpoint.url, body, { egress, auth: 'the-key-of-the-endpoint' })
  const request = {
    id: 'req_1',
    hops: 0,
    context: { who: 'Zoë\n' },
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
  }
  t.equal((await call('{"sku":"BX-1"}', { request })).content, '(no content)')
  const [sent] = endpoint.requests
  t.equal(sent?.body, '{"sku":"BX-1"}')
  t.match(sent?.headers, {
    ...{ 'x-loopgate-tool': 'stock_level', 'x-loopgate-provider-call-id': 'call_1', 'x-team': 'a' },
    ...{ 'x-api-key': 'the-key-of-the-endpoint', traceparent: request.traceparent },
    'x-loopgate-context': '{"who":"Zo\\u00eb\\n"}'
  })
  t.doesNotThrow(() => new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>))
})

t.test('what the model is shown of an answer', async t => {
  const type = 'application/vnd.loopgate.tool-result+json'
  const rows: readonly [string, Parameters<typeof answering>, object][] = [
    [
      'JSON is compact, numbers as written',
      [200, '{ "a": 1.50, "b": 9007199254740993,\n "c": 1e400, "d": "ü" }'],
      { content: '{"a":1.50,"b":9007199254740993,"c":1e400,"d":"ü"}' }
    ],
    ['a JSON string stays quoted', [201, '"hi"'], { content: '"hi"' }],
    ['a number', [200, '17'], { content: '17', status: 'ok' }],
    ['null', [200, 'null'], { content: 'null', status: 'ok' }],
    ['text', [200, 'three\nlines', 'text/plain; charset=utf-8'], { content: 'three\nlines', status: 'ok' }],
    ['text in Latin-1', [200, 'plain', 'text/html; charset=iso-8859-1'], { content: 'plain' }],
    ['nothing', [200, '', 'text/plain'], { content: '(no content)', status: 'ok', direct: '' }],
    ['204', [204], { content: '(no content)', status: 'ok', direct: '' }],
    ['__proto__ is dropped', [200, '{"__proto__":{"isAdmin":true},"\\u005f_proto__":1,"a":1}'], { content: '{"a":1}' }],
    ['half a surrogate pair goes', [200, '"x\\ud800y"'], { content: '"xy"' }],
    ['bidi and tag characters go', [200, 'a\u202Eb\u{E0041}c', 'text/plain'], { content: 'abc' }],
    [
      'envelope',
      [200, '{"content":[{"type":"text","text":"one"},{"type":"json","json":{"n":1.0}}]}', type],
      { content: 'one\n{"n":1.0}' }
    ],
    ['envelope without blocks', [200, '{"structured":{"n":1}}', type], { content: '{"n":1}' }],
    [
      'envelope with other blocks',
      [
        200,
        '{"content":[{"type":"image","data":"AAAA"},{"type":"resource_link","name":"doc","uri":"https://x/y"}]}',
        type
      ],
      { content: '[image, 3 bytes]\ndoc: https://x/y' }
    ],
    [
      'envelope error',
      [200, '{"is_error":true,"error":{"code":"x","message":"no such article"}}', type],
      { content: 'no such article', status: 'error', code: 'tool_error' }
    ],
    [
      'envelope error with text',
      [200, '{"is_error":true,"content":[{"type":"text","text":"sold out"}]}', type],
      { content: 'sold out', code: 'tool_error' }
    ],
    [
      'envelope that is not for the client',
      [200, '{"structured":17,"return_direct":false}', type],
      { content: '17', direct: false }
    ],
    [
      'envelope for the client',
      [200, '{"structured":17,"return_direct":true}', type],
      { content: '17', direct: undefined }
    ],
    ['no envelope', [200, '[1]', type], { code: 'tool_bad_response', content: 'The tool stock_level failed.' }],
    ['another type', [200, '<a/>', 'application/xml'], { code: 'tool_bad_response' }],
    ['no type', [200, 'x', ''], { code: 'tool_bad_response' }],
    ['broken JSON', [200, '{"a":'], { code: 'tool_bad_response' }],
    ['too deep JSON', [200, '['.repeat(200_000)], { code: 'tool_bad_response' }],
    ['64 levels', [200, '['.repeat(64) + ']'.repeat(64)], { content: '['.repeat(64) + ']'.repeat(64) }],
    ['unknown charset', [200, 'x', 'text/plain; charset=klingon'], { code: 'tool_bad_response' }],
    ['compressed', [200, 'x', 'text/plain', { 'content-encoding': 'gzip' }], { code: 'tool_bad_response' }],
    ['202 without being asked', [202, '{}'], { code: 'tool_bad_response' }]
  ]
  for (const [name, answer, expected] of rows) {
    const endpoint = await anEndpoint(answering(...answer))
    const { call } = aWebhook(endpoint.url, {}, { egress })
    t.match(await call(), expected, name)
    await endpoint.close()
  }
  t.equal(({} as { isAdmin?: boolean }).isAdmin, undefined)
})

t.test('output_schema holds for JSON and for structured content', async t => {
  const output_schema = { type: 'object', required: ['units'], properties: { units: { type: 'integer' } } }
  for (const [body, type, ok] of [
    ['{"units":1}', 'application/json', true],
    ['{"units":"many"}', 'application/json', false],
    ['{"structured":{"units":1},"content":[]}', 'application/vnd.loopgate.tool-result+json', true],
    ['{"content":[{"type":"text","text":"x"}]}', 'application/vnd.loopgate.tool-result+json', false]
  ] as const) {
    const endpoint = await anEndpoint(answering(200, body, type))
    const { call } = aWebhook(endpoint.url, { output_schema }, { egress })
    t.match(await call(), ok ? { status: 'ok' } : { code: 'tool_bad_response' }, body)
    await endpoint.close()
  }
})

t.test('statuses have the codes and texts of the contract', async t => {
  const failed = 'The tool stock_level failed.'
  const rows: readonly [number, string, string, string?][] = [
    [400, 'tool_args_rejected', 'sku is unknown', '{"error":{"message":"sku is unknown"}}'],
    [422, 'tool_args_rejected', 'nope', '{"message":"nope"}'],
    [422, 'tool_args_rejected', 'bad', '{"detail":"bad"}'],
    [422, 'tool_args_rejected', '[{"loc":["sku"],"msg":"x"}]', '{"detail":[{"loc":["sku"],"msg":"x"}]}'],
    [422, 'tool_args_rejected', failed],
    [422, 'tool_args_rejected', 'x'.repeat(1000), `{"message":"${'x'.repeat(1500)}"}`],
    [301, 'tool_redirect_refused', failed],
    [401, 'tool_auth_failed', failed, '{"message":"secret detail"}'],
    [403, 'tool_auth_failed', failed],
    [404, 'tool_misconfigured', failed, '{"message":"secret detail"}'],
    [405, 'tool_misconfigured', failed],
    [413, 'tool_misconfigured', failed],
    [415, 'tool_misconfigured', failed],
    [408, 'tool_http_error', failed],
    [409, 'tool_in_progress', failed],
    [410, 'tool_gone', failed],
    [425, 'tool_http_error', failed],
    [429, 'tool_rate_limited', 'The tool stock_level is busy.'],
    [503, 'tool_rate_limited', 'The tool stock_level is busy.'],
    [500, 'tool_http_error', failed, '{"message":"stack trace"}'],
    [502, 'tool_http_error', failed],
    [504, 'tool_http_error', failed]
  ]
  for (const [status, code, content, body = ''] of rows) {
    const endpoint = await anEndpoint(answering(status, body, 'application/json', { location: 'http://127.0.0.1:1/' }))
    const { call, told } = aWebhook(endpoint.url, {}, { egress })
    const result = await call()
    t.match(result, { code, content, status: 'error', attempts: 1 }, `${status} ${body.slice(0, 40)}`)
    t.equal(endpoint.requests.length, 1, 'sent once, and nowhere else')
    t.strictSame(told, status === 410 ? ['gone'] : [])
    await endpoint.close()
  }
})

t.test('the size of what the model sees is bounded, the cut is marked and no character is halved', async t => {
  const endpoint = await anEndpoint(answering(200, 'ä'.repeat(50_000), 'text/plain'))
  t.teardown(() => endpoint.close())
  const { content } = await aWebhook(endpoint.url, {}, { egress }).call()
  t.match(content, /^ä+… \[cut: 159\d\d of 100000 bytes\]$/)
  t.ok(Buffer.byteLength(content as string) <= 16_000)
  const kept = Number(/cut: (\d+)/.exec(content as string)?.[1])
  t.equal(Buffer.byteLength((content as string).split('…')[0] ?? ''), kept)

  const cut = await aWebhook(endpoint.url, { endpoint: { max_response_bytes: 30_000 } }, { egress }).call()
  t.match(cut.content, /of more than 30000 bytes\]$/)
  const small = await aWebhook(endpoint.url, { result: { max_model_bytes: 64 } }, { egress }).call()
  t.ok(Buffer.byteLength(small.content as string) <= 64)
})

t.test('a tool that echoes its request shows no secret', async t => {
  const endpoint = await anEndpoint((response, { headers }) => {
    const status = headers['x-fail'] ? 422 : 200
    const text = `${headers.authorization} ${headers['x-secret']}`
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message: text }))
  })
  t.teardown(() => endpoint.close())
  for (const headers of [{}, { 'x-fail': '1' }]) {
    const body = { auth: { type: 'bearer' }, endpoint: { headers } }
    const { content } = await aWebhook(endpoint.url, body, { egress, auth: 'tok"en-of-the-tool' }).call()
    t.notMatch(content, /of-the-tool/)
    t.match(content, /Bearer \*\*\*/)
  }
})

t.test('calls of one tool wait for a free place', async t => {
  let now = 0
  let most = 0
  const endpoint = await anEndpoint(response => {
    most = Math.max(most, ++now)
    setTimeout(() => response.writeHead(204).end(() => now--), 30)
  })
  t.teardown(() => endpoint.close())
  const { call } = aWebhook(endpoint.url, { limits: { concurrency: 2 } }, { egress })
  const results = await Promise.all(Array.from({ length: 6 }, () => call()))
  t.equal(most, 2)
  t.ok(results.every(({ status }) => status === 'ok'))
})

t.test('a failure to connect is tried once more, then told as unreachable', async t => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise(done => closed.once('listening', done))
  const { port } = closed.address() as { port: number }
  await new Promise(done => closed.close(done))
  const { call } = aWebhook(`http://127.0.0.1:${port}/`, {}, { egress })
  const result = await call()
  t.match(result, { code: 'tool_unreachable', content: 'The tool stock_level is not reachable.', attempts: 2 })
})

t.test('the turn ends when its time is up, whatever the tool may have', async t => {
  const endpoint = await anEndpoint(() => {})
  t.teardown(() => endpoint.close())
  const { call } = aWebhook(endpoint.url, {}, { egress })
  const { policy } = aTurn()
  const changes = { startedAt: Date.now(), policy: { ...policy, limits: { ...policy.limits, maxTurnMs: 150 } } }
  const started = Date.now()
  t.match(await call('{}', changes), { code: 'tool_timeout' })
  t.ok(Date.now() - started < 10_000, 'which is before the time of the tool is up')
})
