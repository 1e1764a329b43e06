import type { Answer } from '../core/chat.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { replay } from '../core/replay.ts'
import type { Emit } from '../core/turn.ts'
import { statusOf } from '../core/turn-status.ts'
import { endedView } from './ended-view.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import { type Ending, runView } from './run-view.ts'
import { withOpenCalls } from './turn-continue.ts'
import { given } from './turn-given.ts'
import { holdTurn, settleTurn } from './turn-held.ts'
import { givenAgain, outcomeOf } from './turn-outcome.ts'
import type { TurnServices } from './turn-services.ts'

/** The Node SDK takes no call index above 127 (W6). */
const MAX_CALLS = 128

/**
 * Runs a prepared turn and writes down what it did. Resolves once that is durable, where it has to be: before the last
 * byte leaves (contract §4.11). Rejects with the error for the client; `client_closed` when there is none any more.
 */
export async function runTurn(services: TurnServices, prepared: PreparedTurn, emit?: Emit): Promise<Answer> {
  if (prepared.again !== undefined) return givenOnceMore(prepared, prepared.again, emit)
  const slot = services.underWay.enter(prepared)
  let ending = await play(services, prepared, emit)
  try {
    await write(services, prepared, ending)
  } catch (cause) {
    // An answer whose record could not be kept is not given; a turn that had failed keeps its own error.
    if (ending.answer) ending = failed(asGatewayError(cause))
    else
      prepared.turn.log.error({ event: 'store.error', turn_id: prepared.turn.id, err: cause }, 'run view not written')
  }
  services.underWay.leave(slot)
  prepared.release()
  prepared.clock.done()
  over(services, prepared, ending)
  count(services, prepared, ending)
  if (ending.answer) {
    services.compactions?.after(prepared, ending.status, prepared.raw)
    return ending.answer
  }
  throw ending.error
}

/** Nothing runs, and nothing is written or counted. */
async function givenOnceMore({ clock }: PreparedTurn, again: string, emit: Emit | undefined): Promise<Answer> {
  try {
    const { answer } = givenAgain(again)
    if (emit) await replay(answer.message, emit)
    return answer
  } finally {
    clock.done()
  }
}

/** Tells whoever waits for the turn's end, and remembers when the client has all of the answer. */
function over({ stores }: TurnServices, { journal, lives, raw, turn }: PreparedTurn, { answer }: Ending): void {
  if (answer && journal.isBegun) raw.once('finish', () => stores.journal.delivered(turn.id))
  if (lives.length === 0) return
  void journal.settled().then(() => {
    for (const live of lives) live.end()
  })
}

async function play(services: TurnServices, prepared: PreparedTurn, emit: Emit | undefined): Promise<Ending> {
  const { chat, finder, runOpen } = services
  const { turn } = prepared
  try {
    if (prepared.isKeyed) await prepared.journal.begin()
    const begun = prepared.before ? await withOpenCalls(turn, runOpen) : turn
    const answer = await chat(emit ? { ...begun, emit } : begun)
    if (answer.message.calls.length > MAX_CALLS) throw tooManyCalls()
    return { status: statusOf(answer.finish), httpStatus: 200, answer }
  } catch (thrown) {
    return failed(errorOf(thrown, prepared))
  } finally {
    if (prepared.hasTools) finder.release(turn.session.key)
  }
}

function tooManyCalls(): GatewayError {
  return new GatewayError('upstream_invalid_response', `The upstream made more than ${MAX_CALLS} tool calls at once.`)
}

function failed(error: GatewayError): Ending {
  const isCancelled = error.code === 'client_closed' || error.code === 'turn_cancelled'
  return { status: isCancelled ? 'cancelled' : 'failed', httpStatus: error.status, error }
}

/** An aborted turn failed for the reason it was aborted for, whatever the part that noticed made of it. */
function errorOf(thrown: unknown, { clock }: PreparedTurn): GatewayError {
  return asGatewayError(clock.signal.aborted ? clock.signal.reason : thrown)
}

async function write(services: TurnServices, prepared: PreparedTurn, ending: Ending): Promise<void> {
  const { stores } = services
  if (ending.answer) await holdTurn(services, prepared, ending.answer)
  const hasEnded = await settleTurn(services, prepared, ending)
  const { head, record, isKept } = prepared
  const { turnId: id, tenant, keyId, sessionId, createdAt } = head
  const written = { id, tenant, keyId, sessionId, createdAt, view: runView(head, record, ending) }
  const row = hasEnded ? { ...written, view: endedView(written, ending.status) } : written
  // Both begin in one tick: they are one commit.
  const journaled = journalEnd(prepared, ending)
  if (isKept || journaled) await Promise.all([stores.turns.save(row), journaled])
  else stores.turns.saveLater(row)
}

/** A turn that its client, or this process, has left can be gone on with; any other is over, and its answer is kept. */
function journalEnd(prepared: PreparedTurn, { answer, error }: Ending): Promise<unknown> | undefined {
  const { journal, before } = prepared
  if (!journal.isBegun) return undefined
  if (answer) return journal.end({ state: 'done', outcome: outcomeOf({ answer, ...given(prepared, answer) }) })
  if (error && LEAVING.has(error.code)) return journal.end({ state: 'left' })
  // Where no tool has run, a retry is to try again.
  const isFinal = error && (journal.hasDispatched || before !== undefined)
  return journal.end({ state: 'failed', ...(isFinal && { outcome: outcomeOf({ error }) }) })
}

const LEAVING: ReadonlySet<string> = new Set(['client_closed', 'shutting_down'])

function count({ metrics }: TurnServices, prepared: PreparedTurn, { status, answer }: Ending): void {
  const { label, head, record, isStream } = prepared
  const { firstOutputMs, durationMs } = record
  metrics.turnEnd({
    dialect: head.dialect,
    model: label,
    status,
    finish: answer?.finish,
    stream: isStream,
    seconds: durationMs / 1000,
    rounds: record.roundCount,
    toolCalls: record.toolCalls,
    overheadSeconds: Math.max(0, durationMs - record.waitedMs) / 1000,
    ...(firstOutputMs !== undefined && { firstOutputSeconds: firstOutputMs / 1000 })
  })
}
