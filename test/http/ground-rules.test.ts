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
    ['a method', fetch(url), 405, 'method_not_allowed', null],
    ['a model', post(edge, { model: 'gpt-0' }), 404, 'model_not_found', 'model'],
    ['unknown option', post(edge, { loopgate: { speed: 1 } }), 400, 'invalid_request', 'loopgate.speed']
  ]
  for (const [title, sent, status, code, param] of cases) {
    const response = await sent
    const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } }
    t.match([response.status, error.code, error.param], [status, code, param], title)
    t.match(response.headers.get('x-request-id'), /^req_/, title)
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
