import { type AddressInfo, connect, type Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import type { Tool } from '../../src/core/chat.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import type { Target } from '../../src/core/models.ts'
import type { Principal, Session } from '../../src/core/principal.ts'
import type { Model } from '../../src/core/turn.ts'
import { type Drain, drainOf } from '../../src/http/drain.ts'
import { frameworkOptions } from '../../src/http/framework-options.ts'
import { groundRules } from '../../src/http/ground-rules.ts'
import { LiveTurns } from '../../src/http/live-turns.ts'
import { models } from '../../src/http/models.ts'
import { openaiChat } from '../../src/http/openai-chat.ts'
import type { TurnServices } from '../../src/http/turn-services.ts'
import { turns } from '../../src/http/turns.ts'
import { TurnsUnderWay } from '../../src/http/turns-under-way.ts'
import type { StoredTurn, TurnRow } from '../../src/stores/contracts.ts'
import { SessionQueue } from '../../src/stores/session-queue.ts'
import type { EndedTurn } from '../../src/telemetry/metrics.ts'

export const aPrincipal: Principal = {
  tenant: 'default',
  key: 'key_1',
  roles: new Set(['chat']),
  models: ['*'],
  tools: { allow: ['*'], deny: [] }
}

export interface EdgeOptions {
  readonly config?: ConfigInput
  readonly tools?: ReadonlyMap<string, Tool>
  readonly principal?: Principal
  readonly targets?: Readonly<Record<string, Target>>
  readonly allowScript?: boolean
  readonly judgeOutput?: TurnServices['judgeOutput']
  /** Turns of sessions that wait, by session key. */
  readonly waiting?: readonly StoredTurn[]
  readonly saveFails?: unknown
  /** Takes the lines of the log. */
  readonly logTo?: (line: string) => void
  /** Adds routes of its own. */
  readonly routes?: (app: FastifyInstance) => void
}

/** The edge of the gateway on a real socket, around any model; what it writes and tells is kept. */
export async function anEdge(chat: Model, options: EdgeOptions = {}): Promise<Edge> {
  const saved: { row: TurnRow; how: 'save' | 'saveLater' }[] = []
  const events: TurnEvent[] = []
  const ended: EndedTurn[] = []
  const buffered: number[] = []
  const attached: unknown[] = []
  const targets: Readonly<Record<string, Target>> = options.targets ?? { sim: { provider: 'sim', model: 'sim' } }
  const released: string[] = []
  const opened: string[] = []
  const { logTo } = options
  const app = fastify({
    ...(logTo && { logger: { level: 'info', stream: { write: logTo } } }),
    ...frameworkOptions,
    bodyLimit: 65_536,
    forceCloseConnections: true
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  groundRules(app)
  const underWay = new TurnsUnderWay()
  const drain = drainOf(app, underWay)
  const services: TurnServices = {
    finder: { release: key => void released.push(key) },
    chat,
    models: { resolve: name => targets[name] },
    catalog: {
      toolsFor: (_principal, attach) => {
        attached.push(attach)
        return options.tools ?? new Map()
      }
    },
    stores: {
      turns: {
        save: async row => {
          if (options.saveFails) throw options.saveFails
          saved.push({ row, how: 'save' })
        },
        saveLater: row => void saved.push({ row, how: 'saveLater' }),
        get: async id => saved.find(({ row }) => row.id === id)?.row,
        sweep: async () => 0
      },
      sessions: {
        append: async () => {},
        openBranch: async (session: Session) => void opened.push(session.branch)
      } as unknown as TurnServices['stores']['sessions'],
      calls: {
        waiting: async (key: string) =>
          (options.waiting ?? []).map(turn => ({ ...turn, session: { key, id: 's1', branch: 'main' } })),
        ofCall: async () => undefined,
        forget: async () => {}
      } as unknown as TurnServices['stores']['calls'],
      leases: new SessionQueue(),
      journal: {
        begin: async () => {},
        dispatch: async () => {},
        settle: async () => {},
        end: async () => {},
        retry: async () => undefined,
        left: async () => [],
        delivered: () => {}
      } as unknown as TurnServices['stores']['journal']
    },
    metrics: {
      turnEvent: event => void events.push(event),
      turnEnd: turn => void ended.push(turn),
      streamBuffered: bytes => void buffered.push(bytes)
    },
    config: configSchema.parse(options.config ?? {}),
    underWay,
    live: new LiveTurns(),
    runOpen: async () => {},
    onUnknown: () => {},
    allowScript: options.allowScript ?? false,
    judgeOutput: options.judgeOutput
  }
  app.decorateRequest('principal')
  app.addHook('onRequest', (request, _reply, done) => {
    request.setDecorator('principal', options.principal ?? aPrincipal)
    done()
  })
  await app.register(openaiChat, services)
  await app.register(turns, { turns: services.stores.turns, underWay: services.underWay })
  const list = () => Object.keys(targets).map(id => ({ id, ownedBy: 'sim', created: 1 }))
  await app.register(models, { models: { list } })
  options.routes?.(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    saved,
    views: () => saved.map(({ row }) => JSON.parse(row.view)),
    events,
    ended,
    buffered,
    attached,
    released,
    opened,
    drain: drain.drain,
    dial: () => connect(port, '127.0.0.1'),
    close: () => app.close()
  }
}

export interface Edge {
  readonly app: FastifyInstance
  readonly url: string
  readonly saved: readonly { row: TurnRow; how: 'save' | 'saveLater' }[]
  /** Run views written so far. */
  readonly views: () => ReturnType<typeof JSON.parse>[]
  readonly events: readonly TurnEvent[]
  readonly ended: readonly EndedTurn[]
  /** What `metrics.streamBuffered` was told. */
  readonly buffered: readonly number[]
  /** What the catalog was asked to attach. */
  readonly attached: readonly unknown[]
  /** Session keys of turns that are over. */
  readonly released: readonly string[]
  /** Names of branches that were opened, or found open. */
  readonly opened: readonly string[]
  readonly drain: Drain['drain']
  readonly dial: () => Socket
  close(): Promise<void>
}

/** POSTs a chat completion; `model` and one question are filled in. */
export function post(edge: Edge, body: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${edge.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'How many BX-1?' }], ...body })
  })
}

/** The same over a bare socket, for clients that leave or do not read. */
export function send(socket: Socket, body: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'hi' }], ...body })
  const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
}

/** The `data:` of each frame, parsed; `[DONE]` as text. */
export function framesOf(text: string): ReturnType<typeof JSON.parse>[] {
  return text
    .split('\n\n')
    .filter(frame => frame.startsWith('data: '))
    .map(frame => (frame === 'data: [DONE]' ? '[DONE]' : JSON.parse(frame.slice(6))))
}
