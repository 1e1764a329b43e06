import type { Fields, Message, ToolMessage } from '../core/chat.ts'
import { NOT_ANSWERED } from '../core/not-answered.ts'
import { ownerOf } from '../core/owner-of.ts'
import type { Policy } from '../core/policy.ts'
import type { Principal, Session } from '../core/principal.ts'
import { questionOf } from '../core/question-of.ts'
import type { RequestInfo } from '../core/turn.ts'
import { earlierRun } from './earlier-run.ts'
import { type HeldSession, heldSession } from './held-session.ts'
import { journalMessages } from './journal-messages.ts'
import { closeLeft } from './left-turns.ts'
import { policyOf } from './policy.ts'
import type { AskedTurn, PreparedTurn } from './prepared-turn.ts'
import { requestInfo } from './request-info.ts'
import { requireSession, sessionOf } from './session.ts'
import { beginTurn, type Exchange } from './turn-begin.ts'
import { withoutOpenCalls } from './turn-history.ts'
import { joinWaiting } from './turn-join.ts'
import { isOutputJudged, modelOf, paramsOf, refuseManyChoices } from './turn-model.ts'
import { type TurnOptions, turnOptions } from './turn-options.ts'
import { type Retried, retried } from './turn-retry.ts'
import type { TurnServices } from './turn-services.ts'
import { supersede } from './turn-supersede.ts'
import { toolsOf } from './turn-tools.ts'
import { checkResults } from './turn-waiting.ts'

/** A request that may be answered: nothing of the store has been changed yet. */
interface Admitted {
  readonly session: Session
  readonly principal: Principal
  readonly asked: AskedTurn
  readonly options: TurnOptions
  readonly policy: Policy
  readonly info: RequestInfo
  readonly model: ReturnType<typeof modelOf>
  readonly params: Fields
  readonly tools: ReturnType<typeof toolsOf>
}

/**
 * Steps 1 and 2 of a turn (contract §4.1): session, policy, model, tools, history. Whatever is refused is refused
 * here, before any upstream is asked. Sets `x-session-id` and `x-loopgate-turn-id` on the reply.
 */
export async function prepareTurn(services: TurnServices, exchange: Exchange, asked: AskedTurn): Promise<PreparedTurn> {
  const admitted = await admit(services, exchange, asked)
  const { principal, session } = admitted
  const { stores, live, config } = services
  // Only now: an answer is not given again to whom it would not be given today.
  const retry = await retried(
    { journal: stores.journal, live, config, onUnknown: services.onUnknown },
    { ...exchange, principal, session }
  )
  if (retry.kind === 'again') return answeredBefore(services, exchange, admitted, retry)
  let held: HeldSession | undefined
  try {
    held = await heldSession(services, { session, principal, messages: asked.messages, raw: exchange.reply.raw })
    return await withWaiting(services, exchange, admitted, { held, retry })
  } catch (error) {
    held?.release()
    await giveUp(services, retry)
    throw error
  }
}

async function admit(services: TurnServices, exchange: Exchange, asked: AskedTurn): Promise<Admitted> {
  const { config, catalog } = services
  const { headers } = exchange.request
  const principal = exchange.request.getDecorator<Principal>('principal')
  const options = turnOptions(asked.loopgate, headers)
  const info = requestInfo(exchange.request, options.context)
  const session = sessionOf(headers, asked.sessionIds, principal, config.session, options.memory.branch)
  const model = modelOf(services, principal, asked.model)
  const params = paramsOf(services, model, options, asked.params)
  await catalog.refresh?.(principal)
  const tools = toolsOf(catalog, principal, { attach: config.tools_attach, options, params, client: asked.clientTools })
  refuseManyChoices(params, model, { gatewayTools: tools.gateway.size, isJudged: isOutputJudged(services, params) })
  requireSession(session, options, config)
  const policy = policyOf(config, options, { isNamed: session.named, tools: tools.gateway })
  return { session, principal, asked, options, policy, info, model, params, tools }
}

interface Ready {
  readonly held: HeldSession
  readonly retry: Exclude<Retried, { kind: 'again' }>
}

/** The turn with what waited in its session, which is held, and with what it has done when it goes on. */
async function withWaiting(
  services: TurnServices,
  exchange: Exchange,
  admitted: Admitted,
  { held, retry }: Ready
): Promise<PreparedTurn> {
  const { principal, asked, options, policy, info, model, params, tools } = admitted
  const { config, stores } = services
  const { turns: waiting, release } = held
  // Whoever asks something else goes on without what was left.
  if (retry.kind === 'new' && held.session.named) await closeLeft(services, { sessionKey: held.session.key })
  const before = retry.kind === 'goes_on' ? retry.turn : undefined
  // A session that nobody named has a new id in every request; a turn keeps the one it began with.
  const session = before ? { ...held.session, ...before.session } : held.session
  checkResults(asked.messages, asked.unmatched, waiting)
  const joined = joinWaiting(asked.messages, waiting)
  if (session.named && session.branch !== 'main') {
    await stores.sessions.openBranch(session, ownerOf(principal))
  }

  const searchTool = config.tool_search.tool_name
  const isGateways = (name: string) => tools.gateway.has(name) || (name === searchTool && !asked.clientTools.has(name))
  const told = withoutOpenCalls(joined.messages, isGateways)
  const messages = before ? [...told, ...journalMessages(before.messages)] : told
  const prompt = { model: model.name, messages, tools: tools.offered, params }
  const { resumes } = joined
  const goneOn = before?.ref.turn ?? resumes?.id
  const earlier = goneOn === undefined ? undefined : await earlierOf(services, goneOn, messages)
  const turn = {
    prompt,
    policy,
    session,
    principal,
    request: info,
    question: joined.question ?? questionOf(told)?.id ?? ''
  }
  await supersede(services, turn, joined.superseded)
  const prepared = beginTurn(services, exchange, {
    ...{ turn, asked, options, resumes, earlier, release, before, again: undefined, ...labelled(admitted) },
    retry: retry.kind === 'new' ? retry : undefined,
    live: retry.kind === 'goes_on' ? retry.live : undefined
  })
  for (const name of tools.shadowed) prepared.turn.tell({ type: 'note', note: `shadowed:${name}` })
  return prepared
}

/** A turn of which only the answer is wanted, once more. */
function answeredBefore(
  services: TurnServices,
  exchange: Exchange,
  { session, principal, asked, options, policy, info, ...admitted }: Admitted,
  { turn: before, outcome: again }: Extract<Retried, { kind: 'again' }>
): PreparedTurn {
  const { model, params, tools } = admitted
  const prompt = { model: model.name, messages: asked.messages, tools: tools.offered, params }
  exchange.reply.header('x-loopgate-replayed', 'true')
  return beginTurn(services, exchange, {
    turn: { prompt, policy, session: { ...session, ...before.session }, principal, request: info, question: '' },
    ...{ asked, options, before, again, ...labelled(admitted), release: () => {} },
    ...{ resumes: undefined, earlier: undefined, retry: undefined, live: undefined }
  })
}

function labelled({ model, tools }: Pick<Admitted, 'model' | 'tools'>): Pick<PreparedTurn, 'hasTools' | 'label'> {
  return { hasTools: tools.gateway.size > 0, label: model.name.includes('/') ? model.target.model : model.name }
}

/** The turn does not begin after all: whoever waits for it waits no more, and one that was taken up is left again. */
async function giveUp({ stores }: TurnServices, retry: Ready['retry']): Promise<void> {
  if (retry.kind === 'new') return retry.claim?.end()
  await stores.journal.end({ ref: retry.turn.ref, state: 'left' }).catch(() => {})
  retry.live.end()
}

/** What the turn did before, by its run view; where a round is told of that no message shows, it failed. */
async function earlierOf({ stores }: TurnServices, id: string, messages: readonly Message[]) {
  const row = await stores.turns.get(id)
  const results = new Map(messages.flatMap(message => (message.role === 'tool' ? [[message.callId, message]] : [])))
  return row && earlierRun(row, callId => (isAnswered(results.get(callId)) ? 'ok' : 'not_run'))
}

function isAnswered(result: ToolMessage | undefined): boolean {
  return result !== undefined && result.content !== NOT_ANSWERED
}
