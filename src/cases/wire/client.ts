import { type IncomingMessage, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientAction, WireCase } from './case.ts'
import type { ClientSaw } from './observation.ts'

/** How long a client that never reads stays, when its case does not say. */
const NEVER_READ_MS = 1500
/** No case takes this long; an answer that never ends is cut here. */
const LIMIT_MS = 20_000

interface Reading {
  response?: IncomingMessage
  headMs?: number
  readonly parts: Buffer[]
  readonly pieces: { atMs: number; bytes: number }[]
  broken?: string
  hasLeft: boolean
}

/** Sends the request of a case and reads its answer as the case says; resolves when it is over or the client has left. */
export async function readAnswer(url: string, one: WireCase, clock: () => number): Promise<ClientSaw> {
  const { method, path, headers, body } = one.clientRequest
  const action = one.clientAction ?? {}
  const reading: Reading = { parts: [], pieces: [], hasLeft: false }
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const text = JSON.stringify(body)
  const request = send(url + path, {
    method,
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers }
  })
  const leave = (because?: string) => {
    if (because === undefined) reading.hasLeft = true
    else reading.broken ??= because
    request.destroy()
    end()
  }
  const timers = [setTimeout(leave, LIMIT_MS, `no end after ${LIMIT_MS} ms`)]
  if (action.disconnectAfterMs !== undefined) timers.push(setTimeout(leave, action.disconnectAfterMs))
  const fail = (error: Error) => {
    if (!reading.hasLeft) reading.broken ??= error.message
    end()
  }
  request.on('error', fail)
  request.on('response', response => {
    reading.response = response
    reading.headMs = clock()
    response.on('error', fail)
    response.on('close', end)
    if (action.neverRead || action.neverReadMs !== undefined) {
      void sleep(action.neverReadMs ?? NEVER_READ_MS).then(() => leave())
    } else {
      response.on('data', (part: Buffer) => {
        reading.parts.push(part)
        reading.pieces.push({ atMs: clock(), bytes: part.length })
        if (hasSaid(action, reading.parts)) leave()
      })
    }
  })
  request.end(text)
  await over
  for (const timer of timers) clearTimeout(timer)
  return saw(reading, clock())
}

function saw({ response, headMs, parts, pieces, broken, hasLeft }: Reading, endMs: number): ClientSaw {
  const bytes = Buffer.concat(parts)
  return {
    ...(response?.statusCode !== undefined && { status: response.statusCode }),
    headers: Object.fromEntries(Object.entries(response?.headers ?? {}).map(([name, value]) => [name, String(value)])),
    text: bytes.toString('utf8'),
    isUtf8: isUtf8(bytes),
    ...(headMs !== undefined && { headMs }),
    endMs,
    hasLeft,
    ...(broken !== undefined && { broken }),
    pieces
  }
}

/** Has the text after which the client leaves been sent, as content of the stream or of the answer? */
function hasSaid({ disconnectAfterText: text }: ClientAction, parts: readonly Buffer[]): boolean {
  if (text === undefined) return false
  const said = [
    ...Buffer.concat(parts)
      .toString('utf8')
      .matchAll(/"(?:content|text)":("(?:[^"\\]|\\.)*")/g)
  ]
  return said
    .map(([, json = '""']) => JSON.parse(json) as string)
    .join('')
    .includes(text)
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
