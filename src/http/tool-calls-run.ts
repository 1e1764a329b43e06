import type { Fields, Message, Tool, ToolMessage } from '../core/chat.ts'
import { asGatewayError } from '../core/errors.ts'
import { questionOf } from '../core/question-of.ts'
import type { Turn } from '../core/turn.ts'
import type { TurnRow } from '../stores/contracts.ts'
import { type EarlierRun, earlierRun, joinedRounds } from './earlier-run.ts'
import { policyOf } from './policy.ts'
import { requestInfo } from './request-info.ts'
import type { RunRecord } from './run-record.ts'
import { roundView } from './run-round.ts'
import { CallBooks } from './tool-calls-books.ts'
import type { Asking, HeldCalls, ToolCallsOptions } from './tool-calls-services.ts'
import { NO_OPTIONS } from './turn-options.ts'
import { type TurnSignal, turnSignal } from './turn-signal.ts'
import { waitingSession } from './waiting-session.ts'

/**
 * Runs stored calls; each result is in the store before this resolves, and no call is run twice. Rejects with
 * `call_not_open` when another request has taken one of them meanwhile.
 */
export async function ranCalls(
  services: ToolCallsOptions,
  asking: Asking,
  held: HeldCalls
): Promise<readonly ToolMessage[]> {
  const { stores, catalog, finder, run } = services
  const { turn: waiting, calls, batch } = held
  await catalog.refresh?.(asking.principal)
  const row = await stores.turns.get(waiting.id)
  const earlier = row && earlierRun(row, () => undefined)
  await stores.calls.claim(
    waiting,
    calls.map(({ id }) => id)
  )
  const clock = turnSignal(asking.reply.raw, batch.request.limits.maxTurnMs, {
    usedMs: earlier?.durationMs ?? 0
  })
  const books = new CallBooks(services, held)
  try {
    const turn = turnOf(services, asking, held, { clock, books, earlier })
    await run(turn, batch.calls, new Set(calls.map(({ index }) => index)))
  } catch (error) {
    throw asGatewayError(clock.signal.aborted ? clock.signal.reason : error)
  } finally {
    clock.done()
    finder.release(waiting.session.key)
    await books.close()
    const now = row && (await stores.turns.get(row.id))
    if (now) await stores.turns.save({ ...now, view: viewWith(now, books.record) })
  }
  return calls.flatMap(({ callId }) => books.results.get(callId) ?? [])
}

interface Running {
  readonly clock: TurnSignal
  readonly books: CallBooks
  /** What the turn has done so far. */
  readonly earlier: EarlierRun | undefined
}

/** The turn as it stood when the calls were made, with the tools that the key may use now. */
function turnOf(
  { catalog, config }: ToolCallsOptions,
  { request, principal }: Asking,
  { turn: waiting, batch }: HeldCalls,
  { clock, books, earlier }: Running
): Turn {
  const { limits, context, toolSearch, isSequential } = batch.request
  const tools = toolsOf(catalog.toolsFor(principal), batch)
  const policy = policyOf(config, NO_OPTIONS, { isNamed: true, tools })
  const { messages } = waiting
  const params = isSequential ? { parallel_tool_calls: false } : {}
  return {
    id: waiting.id,
    startedAt: Date.now() - (earlier?.durationMs ?? 0),
    question: questionOf(messages)?.id ?? '',
    round: batch.calls[0]?.round ?? 0,
    prompt: { model: '', messages: asWritten(messages, batch.calls), tools, params },
    spent: { rounds: 0, usage: earlier?.usage },
    costMicros: () => earlier?.costMicros ?? 0,
    signal: clock.signal,
    session: waitingSession(waiting, {
      ...{ named: true, since: performance.now(), principal, scope: config.session.scope }
    }),
    principal,
    policy: { ...policy, limits, ...(toolSearch && { toolSearch }) },
    request: requestInfo(request, context),
    tell: books.tell,
    keep: books.keep,
    log: request.log
  }
}

/** Of the tools that the key may use now, those of the request; where they are not kept, those that were called. */
function toolsOf(allowed: ReadonlyMap<string, Tool>, { calls, request }: HeldCalls['batch']): Turn['prompt']['tools'] {
  const called = calls.flatMap(({ runner, tool }) => (runner === 'gateway' ? [tool] : []))
  const names = new Set(request.attached ?? called)
  const tools = new Map([...allowed].filter(([name]) => names.has(name)))
  // The same map has the same index.
  return tools.size === allowed.size ? allowed : tools
}

/** The calls of the last batch with the arguments as the model wrote them: what is stored is what could be shown to it. */
function asWritten(messages: readonly Message[], calls: HeldCalls['calls']): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const texts = new Map(calls.map(call => [call.callId, call.arguments]))
  return messages.map((message, n) => {
    if (n !== at || message.role !== 'assistant') return message
    return {
      ...message,
      calls: message.calls.map(call => ({ ...call, arguments: texts.get(call.id) ?? call.arguments }))
    }
  })
}

function viewWith(row: TurnRow, record: RunRecord): string {
  const view = JSON.parse(row.view) as Fields & { readonly duration_ms: number; readonly revealed: readonly string[] }
  return JSON.stringify({
    ...view,
    duration_ms: view.duration_ms + Math.round(record.durationMs),
    revealed: [...new Set([...view.revealed, ...record.revealed])],
    rounds: joinedRounds(
      earlierRun(row, () => undefined),
      [...record.rounds.values()].map(roundView)
    )
  })
}
