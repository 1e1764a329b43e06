import { once } from 'node:events'
import t from 'tap'
import { anEdge, post } from '../helper/edge.ts'
import { scripted } from '../helper/turn.ts'

t.test('bad bodies, paths, methods and media types are refused in OpenAI’s shape, with a request id', async t => {
  const edge = await anEdge(scripted([]))
  t.teardown(() => edge.close())
  const url = `${edge.url}/v1/chat/completions`
  const json = { 'content-type': 'application/json' }
  const send = (body: string, headers: Record<string, string> = json) => fetch(url, { method: 'POST', body, headers })
  const cases: readonly [string, Promise<Response>, number, string, string | null][] = [
    ['no JSON type', send('{}', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type', null],
    ['no type', send('{}', { 'content-type': '' }), 415, 'unsupported_media_type', null],
    ['too large', send(JSON.stringify('x'.repeat(70_000))), 413, 'request_too_large', null],
    ['broken', send('{"a'), 400, 'invalid_request', null],
    ['empty', send(''), 400, 'invalid_request', null],
    ['an array', send('[]'), 400, 'invalid_request', null],
    ['no messages', send('{}'), 400, 'invalid_request', 'messages'],
    ['empty messages', post(edge, { messages: [] }), 400, 'invalid_request', 'messages'],
    ['empty in a session', post(edge, { messages: [], session_id: 's1' }), 400, 'invalid_request', 'messages'],
    ['a role', post(edge, { messages: [{ role: 'x', content: '' }] }), 400, 'invalid_request', 'messages[0].role'],
    [
      'a content',
      post(edge, { messages: [{ role: 'user', content: 5 }] }),
      400,
      'invalid_request',
      'messages[0].content'
    ],
    [
      'a part',
      post(edge, { messages: [{ role: 'user', content: [{}] }] }),
      400,
      'invalid_request',
      'messages[0].content[0].type'
    ],
    ['stream', post(edge, { stream: 'yes' }), 400, 'invalid_request', 'stream'],
    [
      'orphan',
      post(edge, { messages: [{ role: 'tool', tool_call_id: 'x', content: '1' }] }),
      400,
      'invalid_request',
      'messages[0].tool_call_id'
    ],
    ['no route', fetch(`${edge.url}/v2`), 404, 'not_found', null],
    ['no path', fetch(`${edge.url}/v1/models/%`), 400, 'invalid_request', null],
    ['a long name', fetch(`${edge.url}/v1/models/${'m'.repeat(2000)}`), 404, 'model_not_found', 'id'],
    ['too long for any', fetch(`${edge.url}/v1/models/${'m'.repeat(5000)}`), 404, 'not_found', null],
    ['a method with a body of none', fetch(url, { method: 'DELETE', headers: json }), 405, 'method_not_allowed', null],
    ['a method', fetch(url), 405, 'method_not_allowed', null],
    ['a model', post(edge, { model: 'gpt-0' }), 404, 'model_not_found', 'model'],
    ['unknown option', post(edge, { loopgate: { speed: 1 } }), 400, 'invalid_request', 'loopgate.speed']
  ]
  for (const [title, sent, status, code, param] of cases) {
    const response = await sent
    const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } }
    t.match([response.status, error.code, error.param], [status, code, param], title)
    t.match(response.headers.get('x-request-id'), /^req_/, title)
    t.equal(response.headers.get('cache-control'), 'no-store', title)
    t.ok(error.message.length > 10, error.message)
  }
  t.equal((await fetch(url)).headers.get('allow'), 'POST')
  t.equal(edge.saved.length, 0, 'no turn began')
})

t.test('models: those the key may use, and no others', async t => {
  const targets = { fast: { provider: 'up', model: 'big-1' }, 'up/big-2': { provider: 'up', model: 'big-2' } }
  const principal = {
    tenant: 'a',
    key: 'k',
    roles: new Set(['chat']),
    models: ['up/*'],
    tools: { allow: [], deny: [] }
  }
  const edge = await anEdge(scripted([{ text: 'a' }]), { targets, principal, config: { default_model: 'up/big-2' } })
  t.teardown(() => edge.close())
  t.match(await (await fetch(`${edge.url}/v1/models`)).json(), {
    object: 'list',
    data: [{ id: 'up/big-2', object: 'model', created: 1, owned_by: 'sim' }]
  })
  t.match(await (await fetch(`${edge.url}/v1/models/up%2Fbig-2`)).json(), { id: 'up/big-2', object: 'model' })
  t.equal((await fetch(`${edge.url}/v1/models/fast`)).status, 404)
  t.match(await (await post(edge, { model: 'fast' })).json(), { error: { code: 'model_not_allowed' } })
  t.match(await (await post(edge, { model: null })).json(), { model: 'up/big-2' }, 'the default model')
})

t.test('what no parser takes for a request is refused in the same shape', async t => {
  const edge = await anEdge(scripted([]))
  t.teardown(() => edge.close())
  const cases = [
    ['garbage', 'this is no request\r\n\r\n', 400, 'invalid_request'],
    [
      'large headers',
      `GET /v1/models HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'request_too_large'
    ]
  ] as const
  for (const [title, text, status, code] of cases) {
    const socket = edge.dial().setEncoding('utf8')
    let answer = ''
    socket.on('data', part => {
      answer += part
    })
    socket.write(text)
    await once(socket, 'close')
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    t.ok(head.startsWith(`HTTP/1.1 ${status} `), title)
    t.match(head, /^cache-control: no-store\r$/m)
    t.match(head, /^x-request-id: req_\w+\r$/m)
    t.match(JSON.parse(body), { error: { type: 'invalid_request_error', param: null, code } })
  }
})

t.test('a body that is nested too deep, or reaches for a prototype, is refused by what is wrong with it', async t => {
  const edge = await anEdge(scripted([{}, {}, {}, {}]))
  t.teardown(() => edge.close())
  const send = async (fields: string) => {
    const body = `{"model":"sim","messages":[{"role":"user","content":"hi"}],${fields}}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${edge.url}/v1/chat/completions`, { method: 'POST', headers, body })
    const { error } = (await response.json()) as { error?: { message: string } }
    return [response.status, error?.message]
  }
  const nested = (levels: number) => `"metadata":${'['.repeat(levels)}${']'.repeat(levels)}`
  t.strictSame(await send(nested(199)), [200, undefined])
  t.strictSame(await send(nested(200)), [400, 'The body is nested deeper than 200 levels.'])
  t.strictSame(await send(nested(10_000)), [400, 'The body is nested deeper than 200 levels.'])
  t.strictSame(await send(`"a":[${'[],'.repeat(300)}0]`), [200, undefined], 'many brackets are no depth')
  const text = JSON.stringify(`"${'['.repeat(300)}\\`)
  t.strictSame(await send(`"user":${text}`), [200, undefined], 'nor are those of a text')
  t.strictSame(await send(`"user":${text},${nested(300)}`), [400, 'The body is nested deeper than 200 levels.'])
  const escaped = '"\\u005f_proto__":{"a":1}'
  for (const fields of ['"__proto__":{"a":1}', escaped, '"a":{"constructor":{"prototype":{}}}']) {
    t.match(await send(fields), [400, /__proto__/], fields)
  }
})

t.test('a body far over the limit is read to its end, so that the client sees the 413', async t => {
  const edge = await anEdge(scripted([]))
  t.teardown(() => edge.close())
  const size = 8_388_608
  for (const framing of [`content-length: ${size}`, 'transfer-encoding: chunked']) {
    const socket = edge.dial().setEncoding('utf8')
    const answered = once(socket, 'data')
    let isWritten = false
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`
    )
    const body = 'x'.repeat(size)
    const chunk = framing.startsWith('t') ? `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
    socket.write(chunk, () => {
      isWritten = true
    })
    t.match((await answered)[0], /^HTTP\/1.1 413 [\s\S]*"request_too_large"/, framing)
    t.ok(isWritten, 'nothing broke while it was sent')
    socket.destroy()
  }
})

t.test('a route that declares no body takes an empty one of a media type', async t => {
  const edge = await anEdge(scripted([]), { routes: app => app.delete('/v1/things/:id', async () => ({ gone: true })) })
  t.teardown(() => edge.close())
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${edge.url}/v1/things/a`, { method: 'DELETE', headers })
  t.strictSame([response.status, await response.json()], [200, { gone: true }])
})
