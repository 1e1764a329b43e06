import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { type FakeRequest, type FakeServer, fakeServer } from '../fake-server.ts'
import { reach } from '../json-path.ts'
import type { Chunk, UpstreamAnswer } from './case.ts'
import type { UpstreamSaw } from './observation.ts'

export interface FakeUpstream {
  readonly url: string
  /** From now on the answers of one case, the last one again when they are used up; `clock` gives its times in ms. */
  begin(answers: readonly UpstreamAnswer[], clock: () => number): void
  /** The requests since then. */
  seen(): readonly UpstreamSaw[]
  /** Is an answer still being written, or held open? */
  isBusy(): boolean
  close(): Promise<void>
}

type Open = { -readonly [K in keyof UpstreamSaw]: UpstreamSaw[K] }

/** A model server that plays the bytes of a case, write by write, and notes what it was asked. */
export async function fakeUpstream(): Promise<FakeUpstream> {
  let answers: readonly UpstreamAnswer[] = []
  let clock = () => 0
  let requests: Open[] = []
  const open = new Set<Open>()

  const answer = async (request: FakeRequest, response: ServerResponse) => {
    const saw: Open = { ...request, atMs: clock() }
    requests.push(saw)
    open.add(saw)
    const now = clock
    response.once('close', () => {
      open.delete(saw)
      if (!response.writableFinished && !cut.has(response)) saw.abortedMs = now()
    })
    const script = answers[Math.min(requests.length, answers.length) - 1]
    if (script === undefined) response.writeHead(500).end('the case has no upstream answer')
    else await play(script, request, response)
  }
  const server: FakeServer = await fakeServer(answer)
  return {
    url: server.url,
    begin(next, newClock) {
      answers = next
      clock = newClock
      requests = []
      open.clear()
    },
    seen: () => requests.map(one => ({ ...one })),
    isBusy: () => open.size > 0,
    close: server.close
  }
}

/** Answers that the case itself broke off. */
const cut = new WeakSet<ServerResponse>()

async function play(script: UpstreamAnswer, request: FakeRequest, response: ServerResponse): Promise<void> {
  response.writeHead(script.status, script.headers)
  response.flushHeaders()
  for (const chunk of script.chunks) {
    if (chunk.wait !== undefined) await setTimeout(chunk.wait)
    for (const bytes of writesOf(chunk, request)) {
      if (response.closed) return
      // A gateway that stops reading must stop the writing.
      if (!response.write(bytes)) await drained(response)
      await setImmediate()
    }
  }
  if (script.end === 'clean') response.end()
  // What was written must have left before the connection is cut.
  if (script.end === 'reset') {
    cut.add(response)
    void setTimeout(20).then(() => response.socket?.resetAndDestroy())
  }
}

/** Resolves when there is room again, or nobody reads any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

function* writesOf(chunk: Chunk, request: FakeRequest): Generator<Buffer> {
  const bytes = bytesOf(chunk, request)
  if (bytes.length === 0) return
  if (chunk.repeat !== undefined) {
    // Some hundred at a time: the runner must be able to write faster than a client reads.
    const batch = 256
    for (let left = chunk.repeat; left > 0; left -= batch) yield Buffer.concat(Array(Math.min(left, batch)).fill(bytes))
    return
  }
  const step = chunk.splitEvery ?? bytes.length
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step)
}

function bytesOf({ text = '', b64, template }: Chunk, request: FakeRequest): Buffer {
  if (b64 !== undefined) return Buffer.from(b64, 'base64')
  if (template === undefined) return Buffer.from(text)
  const [value] = reach(request.body, template.replace(/^\{\{|\}\}$/g, '')).values
  return Buffer.from(text.replaceAll(template, String(value)))
}
