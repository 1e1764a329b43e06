/**
 * A process of its own: an OpenAI-compatible upstream and a webhook that answer at once, over bare sockets so that they
 * do not hold up what is measured. `@@tool@@` in the question means: call `get_weather` before answering.
 */
import { createServer, type Socket } from 'node:net'
import { onMessages } from './http-messages.ts'

const EVENTS = 100
const ANSWER_BYTES = 1024
const usage = { prompt_tokens: 100, completion_tokens: 200, total_tokens: 300 }
const common = { id: 'chatcmpl-mock', created: 1_700_000_000, model: 'bench' }
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }

const json = (body: unknown) => {
  const text = JSON.stringify(body)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}
const completion = (message: object, finish: string) =>
  json({ ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage })

const event = (data: string) => {
  const frame = `data: ${data}\n\n`
  return Buffer.from(`${frame.length.toString(16)}\r\n${frame}\r\n`)
}
const chunk = (delta: object, finish: string | null = null) =>
  event(
    JSON.stringify({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  )
const stream = (events: Buffer[], finish: string) => [
  Buffer.concat([
    Buffer.from(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n'
    ),
    chunk({ role: 'assistant', content: '' })
  ]),
  ...events,
  Buffer.concat([
    chunk({}, finish),
    event(JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [], usage })),
    event('[DONE]'),
    Buffer.from('0\r\n\r\n')
  ])
]

const answers = {
  text: completion({ role: 'assistant', content: 'lorem ipsum '.repeat(ANSWER_BYTES / 12) }, 'stop'),
  call: completion({ role: 'assistant', content: null, tool_calls: [call] }, 'tool_calls'),
  webhook: json({ celsius: 21, sky: 'clear' })
}
const streams = {
  text: stream(
    Array.from({ length: EVENTS }, (_, i) => chunk({ content: `word${i} ` })),
    'stop'
  ),
  call: stream([chunk({ tool_calls: [{ index: 0, ...call }] })], 'tool_calls')
}

function answer(socket: Socket, head: string, body: Buffer): void {
  if (head.startsWith('POST /hook')) {
    socket.write(answers.webhook)
    return
  }
  const kind = body.includes('@@tool@@') && !body.includes('"role":"tool"') ? 'call' : 'text'
  // One write an event, as a model server that sends each token when it has it.
  if (body.includes('"stream":true')) for (const frame of streams[kind]) socket.write(frame)
  else socket.write(answers[kind])
}

const server = createServer({ noDelay: true }, socket => {
  socket.on('error', () => {})
  onMessages(socket, (head, body) => answer(socket, head, body))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
