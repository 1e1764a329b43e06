import type { Answer, Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { heldRequest } from '../core/held-request.ts'
import { ownFrom } from '../core/own-from.ts'
import type { Turn } from '../core/turn.ts'
import type { StoredTurn, WaitingTurn } from '../stores/contracts.ts'
import { earlierRun } from './earlier-run.ts'
import { withResults } from './turn-join.ts'
import type { PreparedTurn } from './turn-prepare.ts'
import type { TurnServices } from './turn-services.ts'

type Stored = Pick<TurnServices, 'stores'>

/**
 * Where memory does not keep the turn: writes one that waits for its client, and takes out one that has gone on. It is
 * on disk when this resolves. Rejects with `session_busy` when another request has gone on from the same calls.
 */
export async function holdTurn(
  { stores, config }: Pick<TurnServices, 'stores' | 'config'>,
  { turn, resumes }: Pick<PreparedTurn, 'turn' | 'resumes'>,
  answer: Answer
): Promise<void> {
  const isRemembered = turn.policy.memory.mode === 'on' && config.chain.turn.includes('memory')
  if (isRemembered || (resumes === undefined && answer.held === undefined)) return
  const { session, principal } = turn
  const owner = { tenant: principal.tenant, keyId: principal.key }
  const replaced = resumes && { replaces: resumes.id, ...(resumes.answerId && { answers: resumes.answerId }) }
  if (answer.held) {
    const { id, startedAt: createdAt } = turn
    const held = {
      ...{ calls: answer.held, request: heldRequest(turn, answer.held) },
      isForgotten: resumes?.held?.isForgotten ?? true
    }
    const messages = [...ownMessages(turn), ...answer.messages]
    const waits = { id, status: 'awaiting_client', answerId: answer.message.id, messages, createdAt, held } as const
    await stores.sessions.append(session, owner, { ...waits, ...replaced })
  } else if (resumes?.held?.isForgotten) {
    await stores.calls.forget(resumes)
  } else if (resumes) {
    await stores.sessions.append(session, owner, { ...endedWithout(resumes), ...replaced })
  }
}

/** A new question in place of what was waited for: the calls stay unanswered. */
export async function supersede(
  { stores }: Stored,
  { session, principal }: Pick<Turn, 'session' | 'principal'>,
  waiting: readonly WaitingTurn[]
): Promise<void> {
  const owner = { tenant: principal.tenant, keyId: principal.key }
  const end = (turn: WaitingTurn): Promise<void> =>
    turn.held?.isForgotten
      ? stores.calls.forget(turn)
      : stores.sessions.append(session, owner, { ...endedWithout(turn), replaces: turn.id })
  await Promise.all(waiting.map(turn => end(turn).then(() => tellRun({ stores }, turn), orLeaveIt)))
}

/** The run view of a turn that has ended without a request of its own. */
async function tellRun({ stores }: Stored, { id }: WaitingTurn): Promise<void> {
  const row = await stores.turns.get(id)
  if (row === undefined) return
  const { rounds } = earlierRun(row, () => 'not_run')
  await stores.turns.save({ ...row, view: JSON.stringify({ ...JSON.parse(row.view), status: 'superseded', rounds }) })
}

/** Another request has gone on from that turn meanwhile: nothing is left to be marked. */
function orLeaveIt(error: unknown): void {
  if (!(error instanceof GatewayError && error.code === 'session_busy')) throw error
}

function endedWithout(turn: WaitingTurn): StoredTurn {
  const { session: _, held: __, ...stored } = turn
  return { ...stored, status: 'superseded', messages: withResults(turn) }
}

function ownMessages({ prompt, question }: Turn): readonly Message[] {
  return prompt.messages.slice(ownFrom(prompt.messages, question)).filter(({ role }) => role !== 'system')
}
