import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { type App, buildApp } from '../../src/app.ts'
import { loadPlugins } from '../../src/config/load-plugins.ts'
import { readConfig } from '../../src/config/read.ts'
import { framesOf } from './edge.ts'

/** What the model says to one request. */
export interface Said {
  readonly text?: string
  /** Tools it calls, with their arguments. */
  readonly calls?: readonly (readonly [name: string, args: object])[]
}

export interface Asked {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly { readonly role: string; readonly content: string; readonly tool_call_id?: string }[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description?: string } }[]
}

export interface Got {
  readonly status: number
  readonly text: string
  readonly usage: Record<string, number> | undefined
  readonly finish: string | undefined
  readonly headers: Headers
  /** Texts of the pieces, of a stream. */
  readonly pieces: readonly string[]
  readonly error: { readonly code?: string; readonly message?: string } | undefined
}

export interface PluggedGateway extends AsyncDisposable {
  readonly url: string
  /** What the upstream was asked, in order. */
  readonly asked: Asked[]
  /** Lines of the log. */
  readonly logged: Record<string, unknown>[]
  ask(mode: 'call' | 'stream', body?: object, headers?: Record<string, string>): Promise<Got>
}

/** Every answer of the model uses 10 and 5. */
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/**
 * A gateway in this process, as `loopgate serve` makes it, with its configuration and plugins in `folder`, before an
 * upstream that says what `model` says. `config` is the file but for its provider.
 */
export async function pluggedGateway(
  folder: string,
  config: object,
  model: (asked: Asked, nth: number) => Said
): Promise<PluggedGateway> {
  const asked: Asked[] = []
  const upstream = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked
    asked.push(body)
    response.setHeader('content-type', body.stream ? 'text/event-stream' : 'application/json')
    response.end(completion(body, model(body, asked.length)))
  })
  await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as AddressInfo
  const closeUpstream = async (): Promise<void> => {
    upstream.closeAllConnections()
    await new Promise(done => upstream.close(done))
  }
  const path = join(folder, 'gateway.yaml')
  const provider = { name: 'up', kind: 'openai', base_url: `http://127.0.0.1:${port}/v1`, models: ['*'] }
  const own = { store: { path: join(folder, 'a.db') }, secrets: { key_file: join(folder, 'kek') } }
  const shared = { default_model: 'm', providers: [provider], tool_search: { mode: 'off' }, demo: { enabled: false } }
  writeFileSync(path, JSON.stringify({ ...own, ...shared, ...config }))

  const logged: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const app = await start(path, log).catch(async (error: unknown) => {
    await closeUpstream()
    throw error
  })
  await app.fastify.listen({ port: 0, host: '127.0.0.1' })
  await app.ready()
  const url = `http://127.0.0.1:${(app.fastify.server.address() as AddressInfo).port}`
  return {
    url,
    asked,
    logged,
    async ask(mode, body = {}, headers = {}) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          messages: [{ role: 'user', content: 'How many BX-1?' }],
          ...(mode === 'stream' && { stream: true, stream_options: { include_usage: true } }),
          ...body
        })
      })
      return got(response, await response.text())
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await closeUpstream()
    }
  }
}

async function start(path: string, log: Logger): Promise<App> {
  const reading = readConfig({ path, env: {} })
  const plugins = await loadPlugins(reading)
  return buildApp(reading.config, { mode: reading.mode, log, ownUrl: () => '', plugins })
}

function completion({ stream }: Asked, { text = '', calls = [] }: Said): string {
  const tool_calls = calls.map(([name, args], index) => ({
    ...(stream && { index }),
    id: `call_${name}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) }
  }))
  const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls }) }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const head = { id: 'up', created: 1, model: 'm' }
  if (!stream) return JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason }], usage: USAGE })
  const frames = [
    { ...head, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason }], usage: USAGE }
  ]
  return `${frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`
}

function got(response: Response, body: string): Got {
  const { status, headers } = response
  if (!headers.get('content-type')?.startsWith('text/event-stream')) {
    const { choices, usage, error } = JSON.parse(body)
    const text = choices?.[0]?.message.content ?? ''
    return { status, headers, text, usage, finish: choices?.[0]?.finish_reason, pieces: [], error }
  }
  const frames = framesOf(body).filter(frame => frame !== '[DONE]')
  const choices = frames.flatMap(frame => frame.choices ?? [])
  const pieces = choices.flatMap(({ delta }) => (delta?.content ? [delta.content] : []))
  return {
    status,
    headers,
    text: pieces.join(''),
    usage: frames.findLast(frame => frame.usage)?.usage,
    finish: choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason,
    pieces,
    error: frames.find(frame => frame.error)?.error
  }
}
