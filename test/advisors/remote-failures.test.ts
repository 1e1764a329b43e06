import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { newSigningSecret } from '../../src/egress/signing.ts'
import { aRemoteAdvisor, EVERYWHERE, type Placed, played } from '../helper/remote.ts'
import { type Scripted, scripted, silent, toolbox } from '../helper/turn.ts'
import { anEndpoint, answering } from '../helper/webhook.ts'

const SAID = 'There are 17 of the secret article.'
const usage = { prompt: 100, completion: 16, total: 116 }
const script: readonly Scripted[] = [{ text: SAID, usage }]
const call: Placed = { place: 'call', mode: 'call' }
const json = (value: unknown) => answering(200, JSON.stringify(value))

interface Fault {
  readonly name: string
  readonly answer: (response: ServerResponse) => void
  readonly fault: string
  readonly what?: string | number
  readonly timeoutMs?: number
}

const message = { role: 'assistant', content: 'x' }
const plain = (name: string, status: number, body: string, fault: string, what?: string | number): Fault => ({
  ...{ name, fault, answer: response => answering(status, body)(response, recorded, response.req) },
  ...(what !== undefined && { what })
})
const wrong = (name: string, value: unknown, what: string): Fault =>
  plain(name, 200, JSON.stringify(value), 'wrong_form', what)
const recorded = { headers: {}, body: '', path: '' }

/** What an answer to `advisor.response` can be wrong in. */
const FAULTS: readonly Fault[] = [
  { name: 'nothing in time', answer: () => {}, fault: 'timeout', timeoutMs: 60 },
  {
    name: 'an answer that drips',
    answer: response => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 10)
      response.once('close', () => clearInterval(timer))
    },
    fault: 'timeout',
    timeoutMs: 100
  },
  { name: 'a connection that closes', answer: response => void response.socket?.destroy(), fault: 'unreachable' },
  {
    name: 'an answer that breaks off',
    answer: response => {
      response.writeHead(200, { 'content-length': '100' }).write('{"mess')
      setTimeout(() => response.socket?.destroy(), 10)
    },
    fault: 'unreachable'
  },
  plain('status 500', 500, '{"message":{"content":"x"}}', 'status', 500),
  plain('status 401', 401, '', 'status', 401),
  plain('status 202', 202, '', 'status', 202),
  {
    name: 'a redirect',
    answer: response => void response.writeHead(307, { location: '/elsewhere' }).end(),
    ...{ fault: 'status', what: 307 }
  },
  plain('no JSON', 200, '<html>', 'unreadable'),
  plain('an empty body', 200, '', 'unreadable'),
  plain('200 levels and more', 200, `${'['.repeat(300)}${']'.repeat(300)}`, 'unreadable'),
  {
    name: 'no UTF-8',
    answer: response => void response.writeHead(200).end(Buffer.from([0x22, 0xff, 0xfe, 0x22])),
    fault: 'unreadable'
  },
  plain('more than 1 MiB', 200, `{"message":{"content":"${'x'.repeat(1_048_577)}"}}`, 'too_large'),
  wrong('a list', [], 'not an object'),
  wrong('null', null, 'not an object'),
  wrong('no decision', { ok: true }, 'no decision'),
  wrong('two decisions', { message, answer: message }, 'message and answer'),
  wrong('messages to a response', { messages: [message] }, 'messages'),
  wrong('a message that is text', { message: 'x' }, 'message[0]'),
  wrong('a message of the user', { message: { role: 'user', content: 'x' } }, 'message.role'),
  wrong('content that is a number', { message: { content: 1 } }, 'message[0].content'),
  wrong('a part without a type', { message: { content: [{ text: 'x' }] } }, 'message[0].content'),
  wrong(
    'an answer with calls',
    { answer: { tool_calls: [{ id: 'a', function: { name: 'b' } }] } },
    'answer.tool_calls'
  ),
  wrong('a completion without choices', { answer: { choices: [] } }, 'answer.choices'),
  wrong(
    'a call that the model did not make',
    { message: { tool_calls: [{ id: 'a', function: { name: 'b' } }] } },
    'message.tool_calls'
  ),
  wrong(
    'a call without a name',
    { message: { tool_calls: [{ id: 'a', function: {} }] } },
    'message[0].tool_calls[0].function'
  ),
  wrong('an error that is text', { error: 'no' }, 'error')
]

async function faulty(t: Test, answer: Fault['answer']) {
  const endpoint = await anEndpoint(response => answer(response))
  t.teardown(() => endpoint.close())
  return { ...endpoint, secret: newSigningSecret() }
}

/** A log that keeps its warnings. */
function warnings() {
  const lines: Record<string, unknown>[] = []
  return { lines, log: { ...silent, warn: (fields: object) => void lines.push({ ...fields }) } }
}

for (const { name, answer, fault, what, timeoutMs = 5000 } of FAULTS) {
  t.test(`${name} is a failure: open goes on and says so, closed does not`, async t => {
    const endpoint = { ...(await faulty(t, answer)), timeoutMs }
    const { lines, log } = warnings()
    const options = { on: ['response'] as const }
    const open = await played(t, scripted(script), { endpoint, placed: call, options, changes: { log } })
    t.equal(open.answer?.message.content, SAID)
    t.strictSame(
      open.turn.told.filter(({ type }) => type === 'note'),
      [{ type: 'note', note: 'advisor_failed:check' }]
    )
    t.strictSame(lines, [
      {
        ...{ event: 'advisor.failed', advisor: 'check', phase: 'response', fault, what },
        ...{ turn_id: open.turn.id, request_id: 'req_1' }
      }
    ])
    const closed = await played(t, scripted(script), {
      ...{ endpoint, placed: call, changes: { log } },
      options: { ...options, fail: 'closed' }
    })
    t.equal(closed.answer, undefined)
    t.match(closed.error, {
      code: fault === 'timeout' ? 'upstream_timeout' : 'upstream_error',
      status: fault === 'timeout' ? 504 : 502,
      transient: false,
      detail: { reason: 'advisor_failed', usage: { total: 116 } },
      message: /advisor check did not answer/
    })
    t.notMatch(JSON.stringify(lines), /secret|17/, 'no text is logged')
  })
}

/** What an answer to `advisor.request` can be wrong in. */
const WRONG_MESSAGES: readonly (readonly [string, object, string])[] = [
  ['a message', { message }, 'message'],
  ['an empty list', { messages: [] }, 'messages'],
  ['no list', { messages: {} }, 'messages'],
  ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
  ['a user without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
  [
    'a result of no call',
    { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] },
    'messages: calls and results'
  ],
  [
    'a call without a result',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'b', arguments: '{}' } }] }] },
    'messages: calls and results'
  ]
]

for (const [name, value, what] of WRONG_MESSAGES) {
  t.test(`${name} in place of messages is a failure`, async t => {
    const endpoint = await faulty(t, response => json(value)(response, recorded, response.req))
    const { lines, log } = warnings()
    const model = scripted(script)
    const options = { on: ['request'] as const }
    const open = await played(t, model, { endpoint, placed: call, options, changes: { log } })
    t.equal(open.answer?.message.content, SAID)
    t.strictSame(model.seen[0]?.prompt.messages, open.turn.prompt.messages, 'what the client said is asked')
    t.match(lines, [{ fault: 'wrong_form', what, phase: 'request' }])
  })
}

for (const placed of EVERYWHERE) {
  t.test(`nothing is shown of an answer that was not let through (${placed.place}, ${placed.mode})`, async t => {
    const endpoint = await faulty(t, response => json({})(response, recorded, response.req))
    const closed = { on: ['response'] as const, fail: 'closed' as const }
    const { heard, error } = await played(t, scripted(script), { endpoint, placed, options: closed })
    t.match(error, { code: 'upstream_error' })
    t.strictSame(heard, [])
    const first = { on: ['request'] as const, fail: 'closed' as const }
    const model = scripted(script)
    t.match((await played(t, model, { endpoint, placed, options: first })).error, { code: 'upstream_error' })
    t.equal(model.seen.length, 0, 'without it no model is asked')
  })

  t.test(`a turn that is cancelled ends the exchange (${placed.place}, ${placed.mode})`, async t => {
    const client = new AbortController()
    const endpoint = await faulty(t, () => client.abort(new Error('the client went away')))
    const options = { on: ['response'] as const }
    const changes = { signal: client.signal, prompt: { model: 'sim', messages: [], tools: toolbox({}), params: {} } }
    const { error, heard, turn } = await played(t, scripted(script), { endpoint, placed, options, changes })
    t.match(error, { message: 'the client went away' })
    t.strictSame(heard, [])
    t.notOk(
      turn.told.some(({ type }) => type === 'note'),
      'which is no failure of the advisor'
    )
    while (endpoint.aborted() === 0) await new Promise(resolve => setImmediate(resolve))
    t.equal(endpoint.aborted(), 1, 'the connection was closed')
  })
}

t.test('where it may not be, or where nothing listens, nothing is sent', async t => {
  const { lines, log } = warnings()
  const server = await aRemoteAdvisor(t, () => undefined)
  const options = { on: ['request'] as const }
  const endpoint = { ...server, egressPolicy: 'public' }
  const refused = await played(t, scripted(script), { endpoint, placed: call, options, changes: { log } })
  t.equal(refused.answer?.message.content, SAID)
  t.equal(server.connections(), 0)

  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  free.close()
  await once(free, 'close')
  const nowhere = { url: `http://127.0.0.1:${port}/` }
  await played(t, scripted(script), { endpoint: nowhere, placed: call, options, changes: { log } })
  t.match(lines, [{ fault: 'egress_blocked' }, { fault: 'unreachable' }])
})

t.test('a connection that breaks before an answer began is tried once more, under the same id', async t => {
  let requests = 0
  const endpoint = await faulty(t, response => {
    if (++requests === 1) response.socket?.destroy()
    else json({ answer: { content: 'Enough.' } })(response, recorded, response.req)
  })
  const { answer } = await played(t, scripted(script), { endpoint, placed: call })
  t.equal(answer?.message.content, 'Enough.')
  const ids = endpoint.requests.map(({ headers }) => headers['webhook-id'])
  t.equal(ids.length, 2)
  t.equal(ids[0], ids[1])
})

t.test('a key that reaches for a prototype is not there', async t => {
  const endpoint = await faulty(t, response =>
    answering(200, '{"message":{"content":"x","__proto__":{"refusal":"no"}}}')(response, recorded, response.req)
  )
  const { answer } = await played(t, scripted(script), { endpoint, placed: call, options: { on: ['response'] } })
  t.equal(answer?.message.content, 'x')
  t.equal(answer?.message.refusal, undefined)
})
