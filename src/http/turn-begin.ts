import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TurnEvent } from '../core/events.ts'
import { ownFrom } from '../core/own-from.ts'
import type { Spent, Turn } from '../core/turn.ts'
import type { RetryRow } from '../stores/contracts.ts'
import { type EarlierRun, lastRound } from './earlier-run.ts'
import type { LiveTurn } from './live-turns.ts'
import type { AskedTurn, PreparedTurn } from './prepared-turn.ts'
import { RunRecord } from './run-record.ts'
import { type RunHead, runView } from './run-view.ts'
import { WrittenJournal } from './turn-journal.ts'
import type { Retried } from './turn-retry.ts'
import type { TurnServices } from './turn-services.ts'
import { turnSignal } from './turn-signal.ts'

export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface CheckedTurn
  extends Pick<PreparedTurn, 'options' | 'hasTools' | 'label' | 'resumes' | 'release' | 'before' | 'again'> {
  readonly asked: AskedTurn
  /** What it is known by when it comes again. */
  readonly retry: Extract<Retried, { kind: 'new' }> | undefined
  /** Where it goes on from where it was left: what it is found by. */
  readonly live: LiveTurn | undefined
  /** What the turn did before this request. */
  readonly earlier: EarlierRun | undefined
  readonly turn: Pick<Turn, 'prompt' | 'policy' | 'session' | 'principal' | 'request' | 'question'>
}

/** A turn that has been checked gets its clock, its record and its journal. Sets the headers that name it. */
export function beginTurn(services: TurnServices, { request, reply }: Exchange, checked: CheckedTurn): PreparedTurn {
  const { metrics, config } = services
  const { asked, options, hasTools, label, resumes, earlier, release, before, again } = checked
  const { session, policy, principal, prompt } = checked.turn
  const id = before?.ref.turn ?? resumes?.id ?? `turn_${asked.ulid}`
  // Waiting for people is no time of the turn (contract §4.3).
  const usedMs = earlier?.durationMs ?? 0
  const startedAt = Date.now() - usedMs
  reply.header('x-session-id', session.id).header('x-loopgate-turn-id', id)
  const record = new RunRecord()
  const { resumable, resume_grace_ms: resumeGraceMs } = config.stream
  const isResumable = asked.stream && again === undefined && (options.resumable ?? resumable)
  const graceMs = isResumable ? resumeGraceMs : 0
  const clock = turnSignal(reply.raw, policy.limits.maxTurnMs, { usedMs, graceMs })
  const tell = (event: TurnEvent): void => {
    record.tell(event)
    metrics.turnEvent(event)
    prepared.onEvent?.(event)
  }
  const head = {
    ...{ turnId: id, sessionId: session.id, keyId: principal.key, tenant: principal.tenant, dialect: asked.dialect },
    ...{ model: prompt.model, createdAt: earlier?.createdAt ?? startedAt, earlier, tags: options.tags }
  }
  const { journal, lives } = journalOf(services, checked, { id, startedAt, head, record })
  const prepared: PreparedTurn = {
    turn: {
      ...checked.turn,
      id,
      startedAt,
      round: 0,
      signal: clock.signal,
      tell,
      log: request.log,
      journal,
      keep: message => journal.keep(message),
      costMicros: () => (earlier?.costMicros ?? 0) + (record.costMicros ?? 0),
      spent: resumes || before ? spentOf(checked.turn, earlier) : undefined,
      resumes: resumes && (resumes.answerId ?? '')
    },
    answerId: before ? id.slice(id.indexOf('_') + 1) : asked.ulid,
    resumes,
    release,
    options,
    record,
    head,
    clock,
    isStream: asked.stream,
    isResumable,
    raw: reply.raw,
    isKept: session.named || hasTools,
    hasTools,
    label,
    ...{ journal, lives, before, again },
    isKeyed: checked.retry?.claim !== undefined || checked.live !== undefined,
    onEvent: undefined
  }
  return prepared
}

interface Begun {
  readonly id: string
  readonly startedAt: number
  readonly head: RunHead
  readonly record: RunRecord
}

function journalOf(
  { stores, live, config }: TurnServices,
  { turn, resumes, before, retry, live: claimed }: CheckedTurn,
  { id, startedAt, head, record }: Begun
): Pick<PreparedTurn, 'journal' | 'lives'> {
  const lives = [retry?.claim, claimed].filter(each => each !== undefined)
  let rows: readonly RetryRow[] | undefined
  const known = () => (rows ??= retry?.rows() ?? [])
  const { key, id: sessionId, branch, named } = turn.session
  const isRemembered = named && turn.policy.memory.mode === 'on' && config.chain.turn.includes('memory')
  const { messages } = turn.prompt
  const asked = () => messages.slice(messages.findIndex(({ id: each }) => each === turn.question))
  const journal = new WrittenJournal({
    store: stores.journal,
    ref: before?.ref ?? { turn: id, fence: startedAt },
    head: before
      ? undefined
      : () => ({
          session: { key, id: sessionId, branch },
          base: resumes?.answerId,
          startedAt,
          retries: known(),
          question: isRemembered ? asked() : undefined
        }),
    run: () => {
      const { tenant, keyId, createdAt } = head
      return { id, tenant, keyId, sessionId, createdAt, view: runView(head, record, { status: 'running' }) }
    },
    onDispatch: () => {
      for (const { id: retryId, bodyHash } of known()) if (!live.get(retryId)) lives.push(live.enter(retryId, bodyHash))
    }
  })
  return { journal, lives }
}

function spentOf({ prompt, question }: Pick<Turn, 'prompt' | 'question'>, earlier: EarlierRun | undefined): Spent {
  const own = prompt.messages.slice(ownFrom(prompt.messages, question))
  const shown = own.filter(({ role }) => role === 'assistant').length
  return { rounds: Math.max(0, (earlier && lastRound(earlier) - shown) ?? 0), usage: earlier?.usage }
}
