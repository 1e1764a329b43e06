/**
 * A process of its own: sends one request over and over on a number of connections, each as soon as the one before is
 * answered, and prints what it cost. `node load.ts '<JSON of LoadOrder>'`.
 */
import { connect } from 'node:net'
import { onMessages } from './http-messages.ts'
import { processCpuMicros } from './process-cpu.ts'

export interface LoadOrder {
  readonly url: string
  readonly key: string
  /** The body, and what every good answer has in it. */
  readonly body: object
  readonly expect: string
  readonly connections: number
  /** Each connection is in a session of its own, and in a new one after so many turns. Default: no session. */
  readonly turnsOfSession?: number
  /** Nothing is measured before so many answers, or so many milliseconds, whichever is first. */
  readonly warmupRequests: number
  readonly warmupMs: number
  /** How long is measured; longer, up to `longestMs`, while fewer than `leastRequests` are answered. */
  readonly measureMs: number
  readonly longestMs: number
  readonly leastRequests: number
  /** Whose CPU time is read. */
  readonly pid: number
}

export interface LoadResult {
  readonly requests: number
  readonly errors: number
  /** The first bad answer. */
  readonly error?: string
  readonly cpuMicros: number
  readonly seconds: number
  readonly p50Micros: number
  readonly p99Micros: number
}

const order: LoadOrder = JSON.parse(process.argv[2] ?? '{}')
const { host, hostname, port } = new URL(order.url)
const plain = requestOf(order.body)
const run = process.pid.toString(36)

function requestOf(value: object): Buffer {
  const body = JSON.stringify(value)
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${order.key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

/** The next request of a connection, `turn` counted from 0. */
function request(connection: number, turn: number): Buffer {
  if (order.turnsOfSession === undefined) return plain
  const session = `bench-${run}-${connection}-${Math.floor(turn / order.turnsOfSession)}`
  return requestOf({ ...order.body, session_id: session })
}

let errors = 0
let error: string | undefined
let latencies: number[] = []
let isOver = false

function fail(text: string): void {
  errors++
  error ??= text.slice(0, 500)
}

for (let i = 0; i < order.connections; i++) {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let sentAt = 0
  let turn = 0
  const send = () => {
    sentAt = performance.now()
    socket.write(request(i, turn++))
  }
  socket.on('connect', send)
  socket.on('error', ({ message }) => fail(message))
  socket.on('close', () => isOver || fail('the connection was closed'))
  onMessages(socket, (head, answer) => {
    latencies.push((performance.now() - sentAt) * 1000)
    if (!head.startsWith('HTTP/1.1 200') || !answer.includes(order.expect)) fail(`${head}\n${answer}`)
    if (!isOver) send()
  })
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const warmUntil = performance.now() + order.warmupMs
while (latencies.length < order.warmupRequests && performance.now() < warmUntil) await pause(20)
latencies = []
const [cpuBefore, startedAt] = [processCpuMicros(order.pid), performance.now()]
await pause(order.measureMs)
const measureUntil = startedAt + order.longestMs
while (latencies.length < order.leastRequests && errors === 0 && performance.now() < measureUntil) await pause(20)
const [cpuMicros, seconds] = [processCpuMicros(order.pid) - cpuBefore, (performance.now() - startedAt) / 1000]
isOver = true
if (latencies.length === 0) fail('nothing was answered')
const sorted = latencies.sort((a, b) => a - b)
const quantile = (q: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0)
const result: LoadResult = {
  requests: sorted.length,
  errors,
  ...(error !== undefined && { error }),
  cpuMicros,
  seconds,
  p50Micros: quantile(0.5),
  p99Micros: quantile(0.99)
}
console.log(JSON.stringify(result))
process.exit(0)
