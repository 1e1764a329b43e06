import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Tool, ToolCall } from '../../src/core/chat.ts'
import type { Turn } from '../../src/core/turn.ts'
import { type Egress, guardedDispatchers } from '../../src/egress/guarded-dispatchers.ts'
import { newSigningSecret } from '../../src/egress/signing.ts'
import type { ToolDefinition } from '../../src/tools/definition.ts'
import { admitTool } from '../../src/tools/registration.ts'
import { secretScan } from '../../src/tools/secret-scan.ts'
import { toolEntry } from '../../src/tools/tool-entry.ts'
import type { WebhookServices } from '../../src/tools/webhook.ts'
import { aTurn } from './turn.ts'

export const policies = {
  public: { allowHttp: false, allowPrivate: false, ports: [443] },
  internal: { allowHttp: true, allowPrivate: true, ports: [] }
}

export function anEgress(options: Partial<Parameters<typeof guardedDispatchers>[0]> = {}): Egress {
  return guardedDispatchers({ policies, ...options })
}

export interface Recorded {
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly path: string
}

export interface Endpoint {
  readonly url: string
  readonly port: number
  readonly requests: readonly Recorded[]
  /** Requests whose connection the other side closed before the answer was out. */
  readonly aborted: () => number
  readonly connections: () => number
  close(): Promise<void>
}

type Answer = (response: ServerResponse, request: Recorded, raw: IncomingMessage) => void

/** Somebody's HTTP endpoint on loopback; every request is kept. */
export async function anEndpoint(answer: Answer): Promise<Endpoint> {
  const requests: Recorded[] = []
  const sockets = new Set<Socket>()
  let aborted = 0
  let connections = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    response.once('close', () => {
      if (!response.writableFinished) aborted++
    })
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const recorded = { headers: request.headers, body, path: request.url ?? '' }
      requests.push(recorded)
      answer(response, recorded, request)
    })
  })
  server.on('connection', socket => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    requests,
    aborted: () => aborted,
    connections: () => connections,
    close: () =>
      new Promise(done => {
        server.close(() => done())
        for (const socket of sockets) socket.destroy()
      })
  }
}

/** An endpoint that answers JSON, text or a status. */
export function answering(status: number, body = '', type = 'application/json', headers = {}): Answer {
  return response => void response.writeHead(status, { ...(type && { 'content-type': type }), ...headers }).end(body)
}

export interface AnyTool {
  readonly tool: Tool
  readonly secret: string
  readonly definition: ToolDefinition
  readonly told: string[]
  call(args?: string, changes?: Partial<Turn>): ReturnType<NonNullable<Tool['run']>>
}

/** A registered tool at the URL, under the policy `internal`; `told` has what it reported besides its result. */
export function aWebhook(
  url: string,
  body: object = {},
  {
    egress,
    services,
    auth,
    secret = newSigningSecret()
  }: { egress: Egress; services?: Partial<WebhookServices>; auth?: string; secret?: string }
): AnyTool {
  const { endpoint = {}, ...rest } = body as { endpoint?: object }
  const { definition } = admitTool(
    { name: 'stock_level', endpoint: { url, egress_policy: 'internal', ...endpoint }, ...rest },
    'admin',
    { egress, reserved: [] }
  )
  const told: string[] = []
  const { tool } = toolEntry(
    {
      ...{ definition, version: 3, state: 'active', source: 'api', createdAt: Date.now() },
      secrets: { signing: secret, signingAt: '', ...(auth && { auth }) }
    },
    {
      egress,
      pseudonym: (tenant, id) => `ps_${tenant}_${id}`,
      leaks: () => secretScan([]),
      onBlocked: name => void told.push(`blocked ${name}`),
      onGone: () => void told.push('gone'),
      ...services
    }
  )
  const call = async (args = '{}', changes: Partial<Turn> = {}) => {
    const made: ToolCall = { id: 'call_1', name: tool.name, arguments: args }
    if (tool.run === undefined) throw new Error('a webhook tool runs')
    return tool.run(made, turnWith(made, changes))
  }
  return { tool, secret, definition, told, call }
}

/** A turn in round 1 whose model has just made the call. */
export function turnWith(call: ToolCall, changes: Partial<Turn> = {}): Turn {
  const turn = aTurn({ round: 1, ...changes })
  const said = { role: 'assistant' as const, id: 'msg_a', content: '', calls: [call] }
  return { ...turn, prompt: { ...turn.prompt, messages: [...turn.prompt.messages, said] } }
}
