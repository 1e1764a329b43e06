import type { Answer } from '../core/chat.ts'
import type { GatewayError } from '../core/errors.ts'
import { addUsage } from '../core/usage.ts'
import type { TurnStatus } from '../stores/contracts.ts'
import { costView } from './cost-view.ts'
import { type EarlierRun, joinedRounds } from './earlier-run.ts'
import type { RunRecord } from './run-record.ts'
import { roundView, usageView } from './run-round.ts'

/** What the run view says of a turn beside its events. */
export interface RunHead {
  readonly turnId: string
  readonly sessionId: string
  readonly keyId: string
  readonly tenant: string
  readonly dialect: string
  /** The name the client asked for. */
  readonly model: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly tags: readonly string[]
  /** What earlier requests of the turn did. */
  readonly earlier?: EarlierRun | undefined
  /** Absent: a client's turn. */
  readonly kind?: 'compaction'
}

/** How a turn ended, or that it has not yet. */
export interface Ending {
  readonly status: TurnStatus
  /** What the client got, or would have got: an error after the head of a stream has the error's own. Absent: nothing yet. */
  readonly httpStatus?: number
  readonly answer?: Answer
  readonly error?: GatewayError
}

/** The run view as JSON text, as an admin sees it (contract §2.6). */
export function runView(head: RunHead, record: RunRecord, { status, httpStatus, answer, error }: Ending): string {
  const { earlier } = head
  const notes = joined(earlier?.notes, record.notes)
  // What is `undefined` is left out of the text; one object of one shape costs less than one put together.
  return JSON.stringify({
    id: head.turnId,
    kind: head.kind,
    session_id: head.sessionId,
    key_id: head.keyId,
    dialect: head.dialect,
    model: head.model,
    status,
    http_status: httpStatus ?? null,
    finish: answer?.finish ?? null,
    error: error && { code: error.code },
    created_at: new Date(head.createdAt).toISOString(),
    duration_ms: Math.round((earlier?.durationMs ?? 0) + record.durationMs),
    usage: usageView(addUsage(earlier?.usage, record.usage), earlier?.isEstimated === true || record.isEstimated),
    cost_usd: costView(earlier?.costMicros, record.costMicros).cost_usd,
    revealed: joined(earlier?.revealed, record.revealed),
    limit: answer?.limit,
    structured_output: answer?.structured && {
      valid: answer.structured.valid,
      attempts: answer.structured.attempts
    },
    notes: notes.length > 0 ? notes : undefined,
    tags: head.tags.length > 0 ? head.tags : undefined,
    rounds: joinedRounds(earlier, [...record.rounds.values()].map(roundView))
  })
}

/** Each once, in the order they came. */
function joined(before: readonly string[] = [], now: Iterable<string>): readonly string[] {
  return [...new Set([...before, ...now])]
}
