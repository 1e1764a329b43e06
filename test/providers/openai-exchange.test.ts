/** How requests travel: what is sent, how long is waited, and what happens when somebody leaves. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Delta } from '../../src/core/chat.ts'
import { type OpenAIOptions, openaiProvider } from '../../src/providers/openai/provider.ts'
import { aTurn, listener } from '../helper/turn.ts'
import { chunk, DONE, scriptedServer } from './scripted-server.ts'

const TIMEOUTS = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000 }
/** At once, on a machine that may be busy: long before any other wait of these tests would end. */
const SOON_MS = 10_000
const OK = { headers: { 'content-type': 'application/json' }, chunks: [completion('hi')] }
const STREAM = { chunks: [chunk({ content: 'hi' }), chunk({}, 'stop'), DONE] }

function completion(content: string): string {
  return JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] })
}

function provider(baseUrl: string, options: Partial<OpenAIOptions> = {}): ReturnType<typeof openaiProvider> {
  return openaiProvider({ name: 'up', baseUrl, timeouts: TIMEOUTS, transport: 'http', ...options })
}

t.test('the path and query of a base URL are kept, and connections are used again', async t => {
  await using server = await scriptedServer(OK, STREAM, OK)
  const up = provider(`${server.url}/deep/?api-version=1`)
  await up.chat(aTurn())
  t.equal(server.received[0]?.path, '/v1/deep/chat/completions?api-version=1')
  await sleep(20)
  await up.chat(aTurn({ emit: listener().emit }))
  await sleep(20)
  await up.chat(aTurn())
  t.equal(server.connections(), 1, 'also after a stream')
  await up.close()
})

t.test('many streams run at once', async t => {
  // No stream ends before all have begun.
  const all = Promise.withResolvers<void>()
  await using server = await scriptedServer({
    chunks: [chunk({ content: 'a' }), all.promise, chunk({ content: 'b' }, 'stop'), DONE]
  })
  const up = provider(server.url)
  let begun = 0
  const texts = await Promise.all(
    Array.from({ length: 100 }, async () => {
      let text = ''
      const emit = (delta: Delta) => {
        if (text === '' && ++begun === 100) all.resolve()
        if (delta.type === 'text') text += delta.text
        return undefined
      }
      await up.chat(aTurn({ emit }))
      return text
    })
  )
  t.ok(texts.every(text => text === 'ab'))
  await up.close()
})

for (const transport of ['http', 'sdk'] as const) {
  t.test(`${transport}: whoever leaves closes the upstream at once, before the head and in the middle`, async t => {
    for (const step of [
      { end: 'no-head' as const },
      { ...STREAM, chunks: [chunk({ content: 'a' })], end: 'hang' as const }
    ]) {
      for (const emit of [listener().emit, undefined]) {
        await using server = await scriptedServer(step)
        const up = provider(server.url, { transport })
        const leaving = new AbortController()
        const turn = aTurn({ signal: leaving.signal, ...(emit && { emit }) })
        const answer = up.chat(turn)
        while (server.received.length === 0) await sleep(5)
        await sleep(20)
        const leftAt = Date.now()
        const reason = new Error('client left')
        leaving.abort(reason)
        await t.rejects(answer, reason)
        await server.received[0]?.left
        t.ok(Date.now() - leftAt < SOON_MS)
        t.match(turn.told, [{ type: 'attempt.start' }, { type: 'attempt', outcome: 'cancelled' }])
        await up.close()
      }
    }
  })

  t.test(`${transport}: a turn that is over already asks nobody`, async t => {
    await using server = await scriptedServer(OK)
    const up = provider(server.url, { transport })
    await t.rejects(up.chat(aTurn({ signal: AbortSignal.abort(new Error('over')) })), { message: 'over' })
    t.equal(server.received.length, 0)
    await up.close()
  })

  t.test(`${transport}: silence ends the wait, with the phase it happened in`, async t => {
    const stall = { chunks: [chunk({ content: 'hal' })], end: 'hang' as const }
    for (const [step, phase, short] of [
      [{ end: 'no-head' as const }, 'first_byte', { connectMs: 2000, firstByteMs: 200 }],
      [stall, 'idle', { idleMs: 200 }]
    ] as const) {
      await using server = await scriptedServer(step)
      const up = provider(server.url, { timeouts: { ...TIMEOUTS, ...short }, transport })
      const { emit, text } = listener()
      const startedAt = Date.now()
      const turn = aTurn({ emit })
      const error = await up.chat(turn).then(
        () => undefined,
        (error: unknown) => error
      )
      t.match(error, { code: 'upstream_timeout', status: 504, transient: true, detail: { phase } }, phase)
      t.notMatch(String(error), /terminated|UND_ERR/)
      t.ok(Date.now() - startedAt < SOON_MS)
      await server.received[0]?.left
      t.equal(text(), phase === 'idle' ? 'hal' : '')
      t.match(turn.told, [{ type: 'attempt.start' }, { type: 'attempt', outcome: 'upstream_timeout' }])
      await up.close()
    }
  })

  t.test(`${transport}: a provider that is not there is disconnected, not a crash`, async t => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const up = provider(`http://127.0.0.1:${port}/v1`, { transport })
    const turn = aTurn()
    await t.rejects(up.chat(turn), { code: 'upstream_disconnected', transient: true })
    t.match(turn.told, [{ type: 'attempt.start' }, { type: 'attempt', outcome: 'upstream_disconnected' }])
    t.notMatch(JSON.stringify(turn.told), String(port))
    await up.close()
  })

  t.test(`${transport}: a listener that asks for time stops the reading`, async t => {
    const piece = chunk({ content: 'x'.repeat(65536) })
    const pieces = 400
    await using server = await scriptedServer({
      chunks: [...Array<string>(pieces).fill(piece), chunk({}, 'stop'), DONE]
    })
    const up = provider(server.url, { transport, timeouts: { ...TIMEOUTS, idleMs: 1000 } })
    const gate = Promise.withResolvers<void>()
    const heard: Delta[] = []
    const answer = up.chat(
      aTurn({
        emit: delta => {
          heard.push(delta)
          return heard.length === 2 ? gate.promise : undefined
        }
      })
    )
    while (heard.length < 2) await sleep(5)
    await sleep(1500)
    t.equal(heard.length, 2, 'and a slow listener is not an idle provider')
    t.ok((server.received[0]?.written ?? pieces) < pieces, 'the provider had to stop too')
    gate.resolve()
    t.equal((await answer).message.content.length, pieces * 65536)
    t.equal(heard.length, pieces)
    await up.close()
  })

  t.test(`${transport}: a listener that fails ends the upstream`, async t => {
    await using server = await scriptedServer({ chunks: [chunk({ content: 'a' })], end: 'hang' })
    const up = provider(server.url, { transport })
    for (const fail of [
      () => Promise.reject(new Error('gone')),
      (): never => {
        throw new Error('gone')
      }
    ]) {
      await t.rejects(up.chat(aTurn({ emit: fail })), { message: 'gone' })
    }
    await Promise.all(server.received.map(({ left }) => left))
    await up.close()
  })
}

t.test('steady pieces keep an answer alive longer than the silence that ends it', async t => {
  const slow = Array.from({ length: 6 }, () => [chunk({ content: 'a' }), 400]).flat()
  await using server = await scriptedServer({ chunks: [...slow, chunk({}, 'stop'), DONE] })
  const up = provider(server.url, { timeouts: { ...TIMEOUTS, idleMs: 2000 } })
  t.equal((await up.chat(aTurn({ emit: listener().emit }))).message.content, 'aaaaaa')
  await up.close()
})

t.test('a connection that never comes about ends the wait', async t => {
  // It takes the connection and never answers the TLS handshake.
  const sockets: Socket[] = []
  const server = createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const up = provider(`https://127.0.0.1:${port}/v1`, { timeouts: { ...TIMEOUTS, connectMs: 150 } })
  const startedAt = Date.now()
  const left = new AbortController()
  await t.rejects(up.chat(aTurn()), { code: 'upstream_timeout', detail: { phase: 'connect' } })
  t.ok(Date.now() - startedAt < SOON_MS)
  const leaving = up.chat(aTurn({ signal: left.signal }))
  left.abort(new Error('left'))
  await t.rejects(leaving, { message: 'left' })
  for (const socket of sockets) socket.destroy()
  server.close()
})

t.test('a provider asks once: trying again is up to others', async t => {
  for (const transport of ['http', 'sdk'] as const) {
    await using server = await scriptedServer({ status: 503, chunks: ['{}'] })
    const up = provider(server.url, { transport })
    await t.rejects(up.chat(aTurn()), { code: 'upstream_overloaded' })
    t.equal(server.received.length, 1, transport)
    await up.close()
  }
})
