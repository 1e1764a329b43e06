import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import type { Model, Turn } from '../../src/core/turn.ts'
import { SseWriter } from '../../src/http/sse-writer.ts'
import { anEdge, framesOf, post, send } from '../helper/edge.ts'
import { gated, untilComments } from '../helper/gated.ts'
import { scripted, toolbox } from '../helper/turn.ts'

const unhandled: unknown[] = []
process.on('unhandledRejection', reason => void unhandled.push(reason))

interface Waiting {
  readonly chat: Model
  readonly seen: Turn[]
  /** Resolves with how long after the abort the model was told. */
  readonly aborted: Promise<unknown>
}

/** A model that says `first`, then waits for the end of the turn's signal, as an upstream call or a tool does. */
function waiting(first = ''): Waiting {
  const seen: Turn[] = []
  const { promise, resolve } = Promise.withResolvers<unknown>()
  return {
    seen,
    aborted: promise,
    chat: async turn => {
      seen.push(turn)
      turn.tell({
        type: 'usage',
        round: 1,
        provider: 'up',
        model: 'm',
        usage: { prompt: 5, completion: 1, total: 6 },
        estimated: true
      })
      if (first) await turn.emit?.({ type: 'text', text: first })
      try {
        await sleep(30_000, undefined, { signal: turn.signal })
      } catch {
        resolve(turn.signal.reason)
        // What a part makes of the abort is not what the turn ended for.
        throw new GatewayError('upstream_disconnected', 'The connection was cut.')
      }
      throw new Error('was not aborted')
    }
  }
}

async function until(condition: () => boolean, ms = 20_000): Promise<void> {
  for (const end = Date.now() + ms; !condition(); ) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${condition}`)
    await sleep(5)
  }
}

const phases = [
  ['mid-stream', 'There', { stream: true }],
  ['before the first byte of a stream', '', { stream: true }],
  ['in a call that is not streamed', '', {}],
  ['after the head was committed by deadline', '', { stream: true, early: true }]
] as const

for (const [phase, first, { ...body }] of phases) {
  t.test(`a client that leaves ${phase} aborts the turn at once, which is cancelled with 499`, async t => {
    const model = waiting(first)
    const early = 'early' in body
    const edge = await anEdge(model.chat, { config: { stream: { commit_ms: early ? 10 : 10_000 } } })
    t.teardown(() => edge.close())
    const socket = edge.dial()
    send(socket, body)
    await until(() => model.seen.length === 1)
    if (first || early) await once(socket, 'data')
    await sleep(30)
    t.notOk(model.seen[0]?.signal.aborted, 'not while the client is there, its body read')
    socket.destroy()
    t.match(await model.aborted, { code: 'client_closed' })
    await until(() => edge.saved.length === 1)
    t.match(edge.views()[0], {
      status: 'cancelled',
      http_status: 499,
      finish: null,
      usage: { prompt_tokens: 5, completion_tokens: 1, estimated: true }
    })
    t.match(edge.ended, [{ status: 'cancelled' }])
    t.equal((await fetch(`${edge.url}/v1/models`)).status, 200, 'the process lives on')
  })
}

t.test('a client that does not read stops the model; little is held for it', async t => {
  const piece = 'x'.repeat(2000)
  let sent = 0
  let isOver = false
  const chat: Model = async turn => {
    try {
      for (; sent < 100_000; sent++) {
        const pause = turn.emit?.({ type: 'text', text: piece })
        if (pause) await pause
      }
      throw new Error('the model was never stopped')
    } finally {
      isOver = true
    }
  }
  const edge = await anEdge(chat, { config: { stream: { keepalive_ms: 20 } } })
  t.teardown(() => edge.close())
  const socket = edge.dial()
  socket.pause()
  send(socket, { stream: true })
  await until(() => edge.buffered.length > 0)
  let before = -1
  while (before !== sent) {
    before = sent
    await sleep(150)
  }
  await sleep(150)
  t.equal(sent, before, 'it stands still, keepalives and all')
  const peak = Math.max(...edge.buffered)
  t.ok(peak > 0 && peak < 1_048_576, `${peak} bytes were held`)

  t.notOk(isOver)
  socket.resume()
  await until(() => sent > before)
  socket.pause()
  await sleep(50)
  socket.destroy()
  await until(() => isOver, 1000)
  await until(() => edge.saved.length === 1)
  t.match(edge.views()[0], { status: 'cancelled', http_status: 499 })
})

t.test('frames written while the client does not read leave as soon as it does, waited for or not', async t => {
  const server = createServer((_request, response) => {
    const options = { signal: new AbortController().signal, onBuffered: () => {} }
    const writer = new SseWriter(response, options)
    void writer.write('x'.repeat(4_000_000))
    void writer.write('the rest')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/`)
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (text.endsWith('the rest')) break
  }
  t.equal(text.length, 4_000_008)
})

t.test('a slow reader gets every piece, in order, once', async t => {
  const count = 4000
  const chat: Model = async turn => {
    for (let n = 0; n < count; n++) await turn.emit?.({ type: 'text', text: `${n} ${'y'.repeat(500)};` })
    return {
      message: { role: 'assistant', id: 'a', content: '', calls: [] },
      messages: [],
      finish: 'stop',
      offered: new Map()
    }
  }
  const edge = await anEdge(chat)
  t.teardown(() => edge.close())
  const response = await post(edge, { stream: true })
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    await sleep(1)
  }
  const frames = framesOf(text)
  t.equal(frames.at(-1), '[DONE]')
  const said = frames.map(frame => frame.choices?.[0].delta.content ?? '').join('')
  t.strictSame(
    said.split(';').map(each => Number.parseInt(each, 10)),
    [...Array(count).keys(), Number.NaN]
  )
})

/** A model that waits, then answers or fails. */
function late(ms: number, then: Parameters<typeof scripted>[0][number]): Model {
  const model = scripted([then, then])
  return async turn => {
    await sleep(ms, undefined, { signal: turn.signal })
    return model(turn)
  }
}

t.test('silence is broken by comments only, from the deadline of the head on (W3)', async t => {
  const config = { stream: { commit_ms: 60, keepalive_ms: 80 } }
  const model = gated({ text: 'hi' })
  const edge = await anEdge(model.chat, { config })
  t.teardown(() => edge.close())
  const startedAt = Date.now()
  const response = await post(edge, { stream: true })
  t.ok(Date.now() - startedAt >= 50, 'the head came after its deadline, and before the answer')
  const text = await untilComments(response, 2, model.open)
  const elapsed = Date.now() - startedAt
  const [role, ...rest] = text.split('\n\n')
  t.match(role, /"role":"assistant"/)
  const comments = rest.filter(frame => frame.startsWith(':'))
  t.ok(comments.length >= 2 && comments.length <= elapsed / 80 + 1, `${comments.length} comments in ${elapsed} ms`)
  t.ok(comments.every(comment => comment === ': ka'))
  t.match(framesOf(text).at(-1), '[DONE]')

  const slow = await anEdge(late(300, { text: 'hi' }), { config })
  t.teardown(() => slow.close())
  const quiet = await post(slow, { stream: true }, { 'x-loopgate-keepalive': 'off' })
  t.notMatch(await quiet.text(), /: ka/)

  const silent = gated({ text: 'hi' })
  const soon = await anEdge(silent.chat, { config: { stream: { commit_ms: 200_000, keepalive_ms: 50 } } })
  t.teardown(() => soon.close())
  const frames = (await untilComments(await post(soon, { stream: true }), 2, silent.open)).split('\n\n')
  t.match(frames.slice(0, 3), [/role/, ': ka', ': ka'], 'silence that lasts sends the head before its deadline')
})

t.test('what fails before the deadline has its status, after it a frame; a busy stream has no comments', async t => {
  const error = new GatewayError('upstream_error', 'Broken.')
  const edge = await anEdge(late(80, { error }), { config: { stream: { commit_ms: 20 } } })
  t.teardown(() => edge.close())
  const response = await post(edge, { stream: true })
  t.equal(response.status, 200)
  t.match(framesOf(await response.text()), [
    { choices: [{ delta: { role: 'assistant' } }] },
    { error: { code: 'upstream_error' } }
  ])

  const early = await anEdge(late(10, { error }), { config: { stream: { commit_ms: 5000 } } })
  t.teardown(() => early.close())
  t.equal((await post(early, { stream: true })).status, 502)

  const chatty: Model = async turn => {
    for (let n = 0; n < 20; n++) {
      await turn.emit?.({ type: 'text', text: 'a' })
      await sleep(60, undefined, { signal: turn.signal })
    }
    return scripted([{}])(turn)
  }
  const busy = await anEdge(chatty, { config: { stream: { keepalive_ms: 800 } } })
  t.teardown(() => busy.close())
  t.notMatch(await (await post(busy, { stream: true })).text(), /: ka/)
})

t.test('a model that does not end in time is cut: a status before the head, a frame after it', async t => {
  for (const first of ['', 'There']) {
    const model = waiting(first)
    const edge = await anEdge(model.chat, { tools: toolbox({ f: undefined }) })
    t.teardown(() => edge.close())
    const startedAt = Date.now()
    const response = await post(edge, { stream: true, loopgate: { timeout_ms: 200 } })
    const text = await response.text()
    const took = Date.now() - startedAt
    t.ok(took >= 200 && took < 700, `cut after ${took} ms`)
    t.equal(response.status, first ? 200 : 504)
    const { error } = first ? framesOf(text).at(-1) : JSON.parse(text)
    t.match(error, { code: 'upstream_timeout', phase: 'total' })
    t.match(edge.views()[0], { status: 'failed', http_status: 504 })
  }
})

t.test(
  'a turn that the drain does not wait for tells its client so: a status before the head, a frame after it',
  async t => {
    for (const first of ['', 'There']) {
      const model = waiting(first)
      const edge = await anEdge(model.chat)
      t.teardown(() => edge.close())
      const response = post(edge, { stream: true })
      await until(() => model.seen.length === 1)
      if (first) await response
      const startedAt = Date.now()
      await edge.drain(50)
      t.ok(Date.now() - startedAt < 900, 'nothing is waited for once it has ended')
      await edge.close()
      const text = await (await response).text()
      t.equal((await response).status, first ? 200 : 503)
      const { error } = first ? framesOf(text).at(-1) : JSON.parse(text)
      t.match(error, { code: 'shutting_down', type: 'server_error' })
      t.match(edge.views()[0], { status: 'failed', http_status: 503 })
    }
  }
)

t.test('no rejection was left alone', async t => {
  await sleep(20)
  t.strictSame(unhandled, [])
})
