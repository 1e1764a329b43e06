import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Fields, Message, Tool } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { TurnEvent } from '../core/events.ts'
import type { Principal } from '../core/principal.ts'
import type { RequestInfo, Turn } from '../core/turn.ts'
import type { LoopgateBody } from './loopgate-schema.ts'
import { policyOf } from './policy.ts'
import { RunRecord } from './run-record.ts'
import type { RunHead } from './run-view.ts'
import { requireSession, sessionOf } from './session.ts'
import { withoutOpenCalls } from './turn-history.ts'
import { isOutputJudged, modelOf, paramsOf, refuseManyChoices } from './turn-model.ts'
import { type TurnOptions, turnOptions } from './turn-options.ts'
import { checkResults } from './turn-results.ts'
import type { TurnServices } from './turn-services.ts'
import { type TurnSignal, turnSignal } from './turn-signal.ts'
import { toolsOf } from './turn-tools.ts'

/** A request as a dialect has decoded it. */
export interface AskedTurn {
  /** `openai` */
  readonly dialect: string
  /** ULID of the turn, which the answer's id carries too. */
  readonly ulid: string
  readonly model: string | undefined
  readonly messages: readonly Message[]
  /** Results whose call does not stand in the request. */
  readonly unmatched: readonly { readonly index: number; readonly callId: string }[]
  readonly clientTools: ReadonlyMap<string, Tool>
  readonly params: Fields
  readonly stream: boolean
  readonly loopgate: LoopgateBody | undefined
  /** Where the body may name the session, first found wins. */
  readonly sessionIds: readonly unknown[]
}

/** A turn that may begin. */
export interface PreparedTurn {
  readonly turn: Turn
  readonly options: TurnOptions
  readonly record: RunRecord
  readonly head: RunHead
  readonly clock: TurnSignal
  readonly isStream: boolean
  /** What brings the answer to the client. */
  readonly raw: ServerResponse
  /** A session or a gateway tool is involved: what it did must survive a crash once the client has the answer. */
  readonly isKept: boolean
  /** Gateway tools are attached. */
  readonly hasTools: boolean
  /** The model as metrics name it. */
  readonly label: string
  /** Hears the turn's events, after the record. */
  onEvent: ((event: TurnEvent) => void) | undefined
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Requests that came through this many gateways are refused: tools that call their own gateway go round in circles. */
const MAX_HOPS = 3

/**
 * Steps 1 and 2 of a turn (contract §4.1): session, policy, model, tools, history. Whatever is refused is refused
 * here, before any upstream is asked. Sets `x-session-id` and `x-loopgate-turn-id` on the reply.
 */
export async function prepareTurn(services: TurnServices, exchange: Exchange, asked: AskedTurn): Promise<PreparedTurn> {
  const { config, catalog, stores } = services
  const { headers } = exchange.request
  const principal = exchange.request.getDecorator<Principal>('principal')
  const options = turnOptions(asked.loopgate, headers)
  const info = requestInfo(exchange.request, options)
  const session = sessionOf(headers, asked.sessionIds, principal, config.session, options.memory.branch)
  const model = modelOf(services, principal, asked.model)
  const params = paramsOf(services, model, options, asked.params)
  await catalog.refresh?.(principal)
  const tools = toolsOf(catalog, principal, { attach: config.tools_attach, options, params, client: asked.clientTools })
  refuseManyChoices(params, model, { gatewayTools: tools.gateway.size, isJudged: isOutputJudged(services, params) })
  requireSession(session, options, config)
  const policy = policyOf(config, options, { isNamed: session.named, tools: tools.gateway })
  if (asked.unmatched.length > 0) {
    const isRemembered = session.named && policy.memory.mode === 'on'
    await checkResults(asked.unmatched, session, isRemembered ? stores.sessions : undefined)
  }
  if (session.named && session.branch !== 'main') {
    await stores.sessions.openBranch(session, { tenant: principal.tenant, keyId: principal.key })
  }

  const searchTool = config.tool_search.tool_name
  const isGateways = (name: string) => tools.gateway.has(name) || (name === searchTool && !asked.clientTools.has(name))
  const messages = withoutOpenCalls(asked.messages, isGateways)
  const prompt = { model: model.name, messages, tools: tools.offered, params }
  const hasTools = tools.gateway.size > 0
  const label = model.name.includes('/') ? model.target.model : model.name
  const turn = { prompt, policy, session, principal, request: info, question: questionOf(messages) }
  const prepared = begin(services, exchange, { turn, asked, options, hasTools, label })
  for (const name of tools.shadowed) prepared.turn.tell({ type: 'note', note: `shadowed:${name}` })
  return prepared
}

interface Checked extends Pick<PreparedTurn, 'options' | 'hasTools' | 'label'> {
  readonly asked: AskedTurn
  readonly turn: Pick<Turn, 'prompt' | 'policy' | 'session' | 'principal' | 'request' | 'question'>
}

function begin({ metrics }: TurnServices, { request, reply }: Exchange, checked: Checked): PreparedTurn {
  const { asked, options, hasTools, label } = checked
  const { session, policy, principal, prompt } = checked.turn
  const id = `turn_${asked.ulid}`
  const startedAt = Date.now()
  reply.header('x-session-id', session.id).header('x-loopgate-turn-id', id)
  const record = new RunRecord()
  const clock = turnSignal(reply.raw, policy.limits.maxTurnMs)
  const tell = (event: TurnEvent): void => {
    record.tell(event)
    metrics.turnEvent(event)
    prepared.onEvent?.(event)
  }
  const prepared: PreparedTurn = {
    turn: { ...checked.turn, id, startedAt, round: 0, signal: clock.signal, tell, log: request.log },
    options,
    record,
    head: {
      turnId: id,
      sessionId: session.id,
      keyId: principal.key,
      tenant: principal.tenant,
      dialect: asked.dialect,
      model: prompt.model,
      createdAt: startedAt,
      tags: options.tags
    },
    clock,
    isStream: asked.stream,
    raw: reply.raw,
    isKept: session.named || hasTools,
    hasTools,
    label,
    onEvent: undefined
  }
  return prepared
}

function requestInfo({ id, headers }: FastifyRequest, { context }: TurnOptions): RequestInfo {
  const hops = Number.parseInt(String(headers['x-gateway-hops'] ?? '0'), 10) || 0
  if (hops > MAX_HOPS) {
    throw new GatewayError('loop_detected', 'The request came through this gateway too often; tools seem to call it.')
  }
  const { traceparent } = headers
  const isTraced =
    typeof traceparent === 'string' && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(traceparent)
  return { id, hops, context, ...(isTraced && { traceparent }) }
}

/** A turn begins at the last user message; in a request without one, at the last system message or the first of all. */
function questionOf(messages: readonly Message[]): string {
  const last = (role: Message['role']) => messages.findLast(message => message.role === role)
  return (last('user') ?? last('system') ?? messages[0])?.id ?? ''
}
