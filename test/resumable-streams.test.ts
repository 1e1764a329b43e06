import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startGateway } from '../src/cases/gateway.ts'
import { jsonServer } from './helper/json-server.ts'

t.setTimeout(120_000)

interface Paced {
  readonly url: string
  /** Questions that reached the model. */
  readonly asked: () => number
  /** Of those, how many had their connection cut. */
  readonly cut: () => number
}

/** A gateway in front of a model that says 30 pieces, one each 10 ms; `pause` after the tenth, in milliseconds. */
async function paced(t: Test, { pause = 0, stream = {} }: { pause?: number; stream?: object } = {}): Promise<Paced> {
  let asked = 0
  let cut = 0
  const upstream = await jsonServer(async (_body, response) => {
    asked++
    response.once('close', () => void (response.writableEnded || cut++))
    response.setHeader('content-type', 'text/event-stream')
    for (let piece = 1; piece <= 30 && !response.destroyed; piece++) {
      const choices = [{ index: 0, delta: { content: `${piece} ` }, finish_reason: piece === 30 ? 'stop' : null }]
      response.write(`data: ${JSON.stringify({ id: 'up', object: 'chat.completion.chunk', choices })}\n\n`)
      await sleep(piece === 10 ? 10 + pause : 10)
    }
    response.end('data: [DONE]\n\n')
  })
  const gateway = await startGateway({
    config: {
      ...{ default_model: 'up/m', providers: [{ name: 'up', kind: 'openai', base_url: `${upstream.url}/v1` }], stream },
      keys: ['a', 'b'].map(id => ({ id, key: `sk-${id}-0123456789abcdef` }))
    }
  })
  t.teardown(async () => {
    await gateway.stop()
    upstream.close()
  })
  return { url: gateway.url, asked: () => asked, cut: () => cut }
}

const as = (key: string) => ({ authorization: `Bearer sk-${key}-0123456789abcdef` })

interface Reading {
  readonly turnId: string
  readonly ids: readonly string[]
  readonly text: string
  readonly isDone: boolean
}

/** Reads frames, and breaks off after so many. */
async function read(response: Response, leave: AbortController, most = Number.POSITIVE_INFINITY): Promise<Reading> {
  const turnId = response.headers.get('x-loopgate-turn-id') ?? ''
  const ids: string[] = []
  let text = ''
  let isDone = false
  let rest = ''
  try {
    for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const frames = `${rest}${bytes}`.split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        if (frame.startsWith(':')) continue
        if (ids.length === most) {
          leave.abort()
          break
        }
        const [, id, data] = /^id: (.+)\ndata: (.+)$/.exec(frame) ?? []
        if (id === undefined || data === undefined) throw new Error(`a frame without id or data: ${frame}`)
        ids.push(id)
        if (data === '[DONE]') isDone = true
        else text += JSON.parse(data).choices?.[0]?.delta?.content ?? ''
      }
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error
  }
  return { turnId, ids, text, isDone }
}

async function ask({ url }: Paced, most?: number, body: object = { loopgate: { resumable: true } }): Promise<Reading> {
  const leave = new AbortController()
  const response = await fetch(`${url}/v1/chat/completions`, {
    ...{ method: 'POST', signal: leave.signal, headers: { 'content-type': 'application/json', ...as('a') } },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'Count.' }], ...body })
  })
  return read(response, leave, most)
}

async function goOn({ url }: Paced, from: Reading, most?: number): Promise<Reading> {
  const leave = new AbortController()
  const id = from.ids.at(-1)
  const response = await fetch(`${url}/v1/turns/${from.turnId}/events`, {
    signal: leave.signal,
    headers: { ...as('a'), ...(id !== undefined && { 'last-event-id': id }) }
  })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  const more = await read(response, leave, most)
  return { ...more, turnId: from.turnId, ids: [...from.ids, ...more.ids], text: from.text + more.text }
}

const COUNTED = `${Array.from({ length: 30 }, (_, at) => at + 1).join(' ')} `

t.test('20 clients that lose their connection again and again have every frame once, in order', async t => {
  const gateway = await paced(t)
  let cuts = 0
  const client = async (n: number) => {
    let so = await ask(gateway, 2 + (n % 7))
    while (!so.isDone) {
      cuts++
      so = await goOn(gateway, so, 1 + ((n + cuts) % 9))
    }
    return so
  }
  for (const { turnId, ids, text } of await Promise.all(Array.from({ length: 20 }, (_, n) => client(n)))) {
    t.equal(text, COUNTED)
    t.same(
      ids,
      ids.map((_, at) => `${turnId}:${at + 1}`)
    )
  }
  t.ok(cuts > 40, `${cuts} times a connection was cut`)
  t.equal(gateway.asked(), 20, 'the model was asked once for each')
  t.equal(gateway.cut(), 0)
})

t.test('a client that comes back after the end has the rest, and from the start what it asks for', async t => {
  const gateway = await paced(t)
  const broken = await ask(gateway, 5)
  await sleep(1500)
  const whole = await goOn(gateway, broken)
  t.match(whole, { text: COUNTED, isDone: true })
  t.match(await goOn(gateway, { ...broken, ids: [], text: '' }), { text: COUNTED, isDone: true, ids: whole.ids })
  const view = await (await fetch(`${gateway.url}/v1/turns/${broken.turnId}`, { headers: as('a') })).json()
  t.match(view, { status: 'completed', http_status: 200 })
})

t.test('a client that stays away longer than resume_grace_ms has cancelled its turn', async t => {
  const gateway = await paced(t, { pause: 3000, stream: { resumable: true, resume_grace_ms: 200 } })
  const broken = await ask(gateway, 5, {})
  await sleep(1500)
  t.equal(gateway.cut(), 1)
  const view = await (await fetch(`${gateway.url}/v1/turns/${broken.turnId}`, { headers: as('a') })).json()
  t.match(view, { status: 'cancelled', http_status: 499 })
  const rest = await fetch(`${gateway.url}/v1/turns/${broken.turnId}/events`, { headers: as('a') })
  t.match(await rest.text(), /"code":"client_closed"/, 'the end is in its frames')
})

t.test('while somebody reads on, the time of grace does not run', async t => {
  const gateway = await paced(t, { pause: 1500, stream: { resumable: true, resume_grace_ms: 400 } })
  const broken = await ask(gateway, 5, {})
  t.match(await goOn(gateway, broken), { text: COUNTED, isDone: true })
  t.equal(gateway.cut(), 0)
})

t.test('without resumable a client that leaves cancels its turn, and nothing is kept', async t => {
  const gateway = await paced(t, { pause: 3000 })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', ...as('a') } },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'Count.' }] })
  })
  const id = response.headers.get('x-loopgate-turn-id')
  const reader = response.body?.getReader()
  const first = await reader?.read()
  t.notMatch(new TextDecoder().decode(first?.value), /^id:/m)
  const events = await fetch(`${gateway.url}/v1/turns/${id}/events`, { headers: as('a') })
  t.equal(events.status, 410)
  t.match(await events.json(), { error: { code: 'gone' } })
  await reader?.cancel()
  await sleep(1000)
  t.equal(gateway.cut(), 1)
})

t.test('what cannot be read on is refused, and says why', async t => {
  const gateway = await paced(t, { stream: { resume_keep_ms: 400 } })
  const { turnId } = await ask(gateway)
  const look = (id: string, headers: Record<string, string>) =>
    fetch(`${gateway.url}/v1/turns/${id}/events`, { headers })
  t.equal((await look(turnId, as('b'))).status, 404, 'of another key')
  t.equal((await look('turn_0', as('a'))).status, 404, 'never there')
  for (const last of ['5', `${turnId}:`, `${turnId}:1000`, 'turn_0:1', `${turnId}:-1`]) {
    const answer = await look(turnId, { ...as('a'), 'last-event-id': last })
    t.equal(answer.status, 400, last)
    t.match(await answer.json(), { error: { code: 'invalid_request', param: 'Last-Event-ID' } })
  }
  await sleep(600)
  t.equal((await look(turnId, as('a'))).status, 410, 'after resume_keep_ms')
})
