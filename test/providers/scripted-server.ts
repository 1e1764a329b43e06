/** An upstream that answers as a script says, over a real socket; what it was sent and when it was left is kept. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Step {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Each is one write; a number waits so many ms, a promise until it is kept. */
  readonly chunks?: readonly (string | Buffer | number | Promise<void>)[]
  /** `hang` never ends the body, `reset` destroys the socket, `no-head` sends nothing at all. */
  readonly end?: 'clean' | 'hang' | 'reset' | 'no-head'
}

export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
  /** Resolves when the connection of the request closed before its answer had ended. */
  readonly left: Promise<void>
  /** Chunks of its answer that were written so far. */
  written: number
}

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
  /** Connections made so far. */
  readonly connections: () => number
}

/** Answers the n-th request by the n-th step; the last one is repeated. */
export async function scriptedServer(...steps: readonly Step[]): Promise<ScriptedServer> {
  const received: Received[] = []
  let connections = 0
  const server = createServer((request, response) => {
    const step = steps[Math.min(received.length, steps.length - 1)] ?? {}
    void take(request, response, received).then(got => answer(step, response, got))
  })
  server.on('connection', () => {
    connections++
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    received,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
}

async function take(request: IncomingMessage, response: ServerResponse, received: Received[]): Promise<Received> {
  const { promise: left, resolve } = Promise.withResolvers<void>()
  response.once('close', () => {
    if (!response.writableFinished) resolve()
  })
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
  const got = { path: request.url ?? '', headers: request.headers, body, left, written: 0 }
  received.push(got)
  return got
}

async function answer(step: Step, response: ServerResponse, got: Received): Promise<void> {
  const { status = 200, headers, chunks = [], end = 'clean' } = step
  if (end === 'no-head') return
  response.writeHead(status, headers ?? { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const chunk of chunks) {
    if (response.destroyed) return
    if (typeof chunk === 'number') await sleep(chunk)
    else if (chunk instanceof Promise) await chunk
    else if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    got.written++
    // Each write arrives on its own.
    await sleep(1)
  }
  if (end === 'clean') response.end()
  else if (end === 'reset') response.destroy()
}

/** One chunk of a completion as an event. */
export function chunk(
  delta: unknown,
  finish: string | null = null,
  more: Readonly<Record<string, unknown>> = {}
): string {
  return event({ id: 'up-1', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })
}

export function event(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}

export const DONE = 'data: [DONE]\n\n'
