import type { FastifyReply } from 'fastify'
import type { Answer, Fields, Finish } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import { costView } from './cost-view.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import type { RunRecord } from './run-record.ts'
import { roundView, usageView } from './run-round.ts'

/** Ends that every client expects; any other is worth the `loopgate` object. */
const ORDINARY: ReadonlySet<Finish> = new Set(['stop', 'length', 'content_filter', 'client_calls'])

/** Figures of a turn as headers of its JSON answer (contract §3.4). */
export function figuresOf(record: RunRecord, { finish }: Answer): Readonly<Record<string, string>> {
  const { target } = record
  const { cost_usd: cost } = costView(record.costMicros)
  return {
    ...(target && {
      'x-loopgate-model': printable(target.model),
      'x-loopgate-provider': printable(target.provider)
    }),
    'x-loopgate-attempts': String(record.attempts),
    'x-loopgate-rounds': String(record.roundCount),
    'x-loopgate-tool-calls': String(record.toolCalls),
    'x-loopgate-finish': finish,
    ...(cost !== undefined && { 'x-loopgate-cost-usd': String(cost) })
  }
}

/** What was left out or changed on the way, or is not as the client wants it, as far as it is known when the head goes out. */
export function setNotes(reply: FastifyReply, { notes, isOutputInvalid }: RunRecord): void {
  if (notes.length > 0) reply.header('x-loopgate-notes', printable(notes.join(', ')))
  if (isOutputInvalid) reply.header('x-loopgate-structured', 'invalid')
}

/** A turn that ran a tool, in this request or before, must not be sent again by an SDK that retries (W16). */
export function forbidRetry(reply: FastifyReply, { record, journal, before, head }: PreparedTurn): void {
  const ranBefore = head.earlier?.rounds.some(({ calls }) => calls.some(({ status }) => RAN.has(status))) === true
  if (record.toolCalls > 0 || journal.hasDispatched || before || ranBefore) reply.header('x-should-retry', 'false')
}

const RAN: ReadonlySet<string> = new Set(['ok', 'error', 'unknown'])

/** Names of tools and models may hold what a header may not. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 2000)
}

/**
 * The `loopgate` object of an answer (contract §3.4): when the request asks for it, or when there is something a
 * client should not miss. Absent otherwise.
 */
export function reportOf({ turn, options, record }: PreparedTurn, answer: Answer): Fields | undefined {
  const { include } = options
  const isAsked = include.has('summary') || include.has('rounds')
  const { finish, limit, partialResults, structured } = answer
  if (
    !isAsked &&
    ORDINARY.has(finish) &&
    limit === undefined &&
    structured?.valid !== false &&
    record.notes.length === 0
  )
    return undefined
  return {
    turn_id: turn.id,
    session_id: turn.session.id,
    finish,
    ...(limit && { limit }),
    rounds: record.roundCount,
    tool_calls: record.toolCalls,
    ...costView(record.costMicros),
    usage_estimated: record.isEstimated,
    ...(partialResults && { partial_results: partialResults }),
    ...(answer.direct && { direct: answer.direct }),
    ...(structured && { structured_output: structured }),
    notes: record.notes,
    ...(include.has('rounds') && { round_list: [...record.rounds.values()].map(roundView) })
  }
}

/** An event of the turn as `include: ["events"]` sends it; absent for those that are not sent. */
export function eventView(event: TurnEvent, record: RunRecord): Fields | undefined {
  switch (event.type) {
    case 'round.start':
      return { type: event.type, n: event.round }
    case 'round.end': {
      const round = record.rounds.get(event.round)
      return {
        type: event.type,
        n: event.round,
        usage: usageView(round?.usage, round?.isEstimated === true),
        usage_so_far: usageView(record.usage, record.isEstimated)
      }
    }
    case 'tool.start':
      return {
        type: event.type,
        n: event.round,
        tool: event.tool,
        call_id: event.callId,
        ...(event.augmented && { augmented: event.augmented })
      }
    case 'tool.end':
      return {
        type: event.type,
        n: event.round,
        tool: event.tool,
        call_id: event.callId,
        is_error: event.status !== 'ok',
        duration_ms: Math.round(event.durationMs)
      }
    case 'search':
      return { type: event.type, n: event.round, found: event.found, duration_ms: Math.round(event.durationMs) }
    default:
      return undefined
  }
}
