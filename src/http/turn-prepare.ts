import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Fields, Message, Tool, ToolMessage } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import { NOT_ANSWERED } from '../core/not-answered.ts'
import { ownFrom } from '../core/own-from.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { Policy } from '../core/policy.ts'
import type { Principal } from '../core/principal.ts'
import { questionOf } from '../core/question-of.ts'
import type { RequestInfo, Spent, Turn } from '../core/turn.ts'
import type { WaitingTurn } from '../stores/contracts.ts'
import { type EarlierRun, earlierRun, lastRound } from './earlier-run.ts'
import { type HeldSession, heldSession } from './held-session.ts'
import type { LoopgateBody } from './loopgate-schema.ts'
import { policyOf } from './policy.ts'
import { requestInfo } from './request-info.ts'
import { RunRecord } from './run-record.ts'
import type { RunHead } from './run-view.ts'
import { requireSession, sessionOf } from './session.ts'
import { withoutOpenCalls } from './turn-history.ts'
import { joinWaiting } from './turn-join.ts'
import { isOutputJudged, modelOf, paramsOf, refuseManyChoices } from './turn-model.ts'
import { type TurnOptions, turnOptions } from './turn-options.ts'
import type { TurnServices } from './turn-services.ts'
import { type TurnSignal, turnSignal } from './turn-signal.ts'
import { supersede } from './turn-supersede.ts'
import { toolsOf } from './turn-tools.ts'
import { checkResults } from './turn-waiting.ts'

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
  /** Its frames are kept, and a client that was cut off has a time to come back. */
  readonly isResumable: boolean
  /** What brings the answer to the client. */
  readonly raw: ServerResponse
  /** A session or a gateway tool is involved: what it did must survive a crash once the client has the answer. */
  readonly isKept: boolean
  /** Gateway tools are attached. */
  readonly hasTools: boolean
  /** The model as metrics name it. */
  readonly label: string
  /** The turn that goes on with this request, as it waited in the store. */
  readonly resumes?: WaitingTurn | undefined
  /** Gives its session to the next request: to be called when the turn is over and written down. */
  readonly release: () => void
  /** Hears the turn's events, after the record. */
  onEvent: ((event: TurnEvent) => void) | undefined
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Steps 1 and 2 of a turn (contract §4.1): session, policy, model, tools, history. Whatever is refused is refused
 * here, before any upstream is asked. Sets `x-session-id` and `x-loopgate-turn-id` on the reply.
 */
export async function prepareTurn(services: TurnServices, exchange: Exchange, asked: AskedTurn): Promise<PreparedTurn> {
  const { config, catalog } = services
  const { headers } = exchange.request
  const principal = exchange.request.getDecorator<Principal>('principal')
  const options = turnOptions(asked.loopgate, headers)
  const info = requestInfo(exchange.request, options.context)
  const named = sessionOf(headers, asked.sessionIds, principal, config.session, options.memory.branch)
  const model = modelOf(services, principal, asked.model)
  const params = paramsOf(services, model, options, asked.params)
  await catalog.refresh?.(principal)
  const tools = toolsOf(catalog, principal, { attach: config.tools_attach, options, params, client: asked.clientTools })
  refuseManyChoices(params, model, { gatewayTools: tools.gateway.size, isJudged: isOutputJudged(services, params) })
  requireSession(named, options, config)
  const policy = policyOf(config, options, { isNamed: named.named, tools: tools.gateway })
  const held = await heldSession(services, {
    session: named,
    principal,
    messages: asked.messages,
    raw: exchange.reply.raw
  })
  try {
    return await withWaiting(services, exchange, {
      held,
      principal,
      asked,
      options,
      policy,
      info,
      model,
      params,
      tools
    })
  } catch (error) {
    held.release()
    throw error
  }
}

interface Admitted {
  readonly held: HeldSession
  readonly principal: Principal
  readonly asked: AskedTurn
  readonly options: TurnOptions
  readonly policy: Policy
  readonly info: RequestInfo
  readonly model: ReturnType<typeof modelOf>
  readonly params: Fields
  readonly tools: ReturnType<typeof toolsOf>
}

/** The turn with what waited in its session, which is held. */
async function withWaiting(services: TurnServices, exchange: Exchange, admitted: Admitted): Promise<PreparedTurn> {
  const { held, principal, asked, options, policy, info, model, params, tools } = admitted
  const { config, stores } = services
  const { session, turns: waiting } = held
  checkResults(asked.messages, asked.unmatched, waiting)
  const joined = joinWaiting(asked.messages, waiting)
  if (session.named && session.branch !== 'main') {
    await stores.sessions.openBranch(session, ownerOf(principal))
  }

  const searchTool = config.tool_search.tool_name
  const isGateways = (name: string) => tools.gateway.has(name) || (name === searchTool && !asked.clientTools.has(name))
  const messages = withoutOpenCalls(joined.messages, isGateways)
  const prompt = { model: model.name, messages, tools: tools.offered, params }
  const hasTools = tools.gateway.size > 0
  const label = model.name.includes('/') ? model.target.model : model.name
  const { resumes } = joined
  const earlier = resumes && (await earlierOf(services, resumes, messages))
  const turn = {
    prompt,
    policy,
    session,
    principal,
    request: info,
    question: joined.question ?? questionOf(messages)?.id ?? ''
  }
  await supersede(services, turn, joined.superseded)
  const { release } = held
  const prepared = begin(services, exchange, { turn, asked, options, hasTools, label, resumes, earlier, release })
  for (const name of tools.shadowed) prepared.turn.tell({ type: 'note', note: `shadowed:${name}` })
  return prepared
}

interface Checked extends Pick<PreparedTurn, 'options' | 'hasTools' | 'label' | 'resumes' | 'release'> {
  readonly asked: AskedTurn
  /** What the turn did before this request. */
  readonly earlier: EarlierRun | undefined
  readonly turn: Pick<Turn, 'prompt' | 'policy' | 'session' | 'principal' | 'request' | 'question'>
}

function begin({ metrics, config }: TurnServices, { request, reply }: Exchange, checked: Checked): PreparedTurn {
  const { asked, options, hasTools, label, resumes, earlier, release } = checked
  const { session, policy, principal, prompt } = checked.turn
  const id = resumes?.id ?? `turn_${asked.ulid}`
  // Waiting for people is no time of the turn (contract §4.3).
  const usedMs = earlier?.durationMs ?? 0
  const startedAt = Date.now() - usedMs
  reply.header('x-session-id', session.id).header('x-loopgate-turn-id', id)
  const record = new RunRecord()
  const { resumable, resume_grace_ms: resumeGraceMs } = config.stream
  const isResumable = asked.stream && (options.resumable ?? resumable)
  const graceMs = isResumable ? resumeGraceMs : 0
  const clock = turnSignal(reply.raw, policy.limits.maxTurnMs, { usedMs, graceMs })
  const tell = (event: TurnEvent): void => {
    record.tell(event)
    metrics.turnEvent(event)
    prepared.onEvent?.(event)
  }
  const prepared: PreparedTurn = {
    turn: {
      ...{ ...checked.turn, id, startedAt, round: 0, signal: clock.signal, tell, log: request.log },
      costMicros: () => (earlier?.costMicros ?? 0) + (record.costMicros ?? 0),
      ...(resumes && { resumes: resumes.answerId ?? '', spent: spentOf(checked.turn, earlier) })
    },
    resumes,
    release,
    options,
    record,
    head: {
      turnId: id,
      sessionId: session.id,
      keyId: principal.key,
      tenant: principal.tenant,
      dialect: asked.dialect,
      model: prompt.model,
      createdAt: earlier?.createdAt ?? startedAt,
      earlier,
      tags: options.tags
    },
    clock,
    isStream: asked.stream,
    isResumable,
    raw: reply.raw,
    isKept: session.named || hasTools,
    hasTools,
    label,
    onEvent: undefined
  }
  return prepared
}

/** What the turn did before, by its run view; where a round is told of that no message shows, it failed. */
async function earlierOf({ stores }: TurnServices, { id }: WaitingTurn, messages: readonly Message[]) {
  const row = await stores.turns.get(id)
  const results = new Map(messages.flatMap(message => (message.role === 'tool' ? [[message.callId, message]] : [])))
  return row && earlierRun(row, callId => (isAnswered(results.get(callId)) ? 'ok' : 'not_run'))
}

function isAnswered(result: ToolMessage | undefined): boolean {
  return result !== undefined && result.content !== NOT_ANSWERED
}

function spentOf({ prompt, question }: Pick<Turn, 'prompt' | 'question'>, earlier: EarlierRun | undefined): Spent {
  const own = prompt.messages.slice(ownFrom(prompt.messages, question))
  const shown = own.filter(({ role }) => role === 'assistant').length
  return { rounds: Math.max(0, (earlier && lastRound(earlier) - shown) ?? 0), usage: earlier?.usage }
}
