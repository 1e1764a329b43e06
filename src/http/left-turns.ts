import type { Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { notAnswered } from '../core/not-answered.ts'
import { unknownOutcome } from '../core/unknown-outcome.ts'
import type { JournalTurn, Stores, TurnRow } from '../stores/contracts.ts'
import { endRun } from './end-run.ts'
import { journalMessages } from './journal-messages.ts'
import { outcomeOf } from './turn-outcome.ts'

export interface LeftTurnsOptions {
  readonly stores: Pick<Stores, 'journal' | 'turns' | 'sessions'>
  /** A call was sent, and its outcome will never be known. */
  readonly onUnknown: (call: { readonly turn: string; readonly tool: string }) => void
}

/**
 * Ends turns that were left, by their client or by a process that died, and that nobody has gone on with: what they did
 * goes into the transcript, marked as failed (contract §4.11). Their calls are not sent again.
 */
export async function closeLeft(
  { stores, onUnknown }: LeftTurnsOptions,
  which: { readonly sessionKey: string } | { readonly before: number }
): Promise<number> {
  const left = await stores.journal.left(which)
  for (const { ref } of left) {
    const turn = await stores.journal.take(ref.turn, ({ callId, tool }) => {
      onUnknown({ turn: ref.turn, tool })
      return unknownOutcome(callId, tool)
    })
    // Somebody has gone on with it meanwhile.
    if (turn === undefined) continue
    await keep(stores, turn)
    await stores.journal.end({ ref: turn.ref, state: 'failed', outcome: outcomeOf({ error: over() }) })
  }
  return left.length
}

/** A turn whose client left was kept when that happened: it is not `running` any more. */
async function keep({ turns, sessions }: LeftTurnsOptions['stores'], turn: JournalTurn): Promise<void> {
  const row = await turns.get(turn.ref.turn)
  if (row === undefined || !isRunning(row)) return
  if (turn.question && turn.base === undefined) {
    const messages = answered([...turn.question, ...journalMessages(turn.messages)])
    const { session, startedAt: createdAt } = turn
    await sessions.append(
      { ...session, named: true },
      { tenant: row.tenant, keyId: row.keyId },
      { id: row.id, status: 'failed', messages, createdAt }
    )
  }
  await endRun(turns, row.id, 'failed')
}

/** A retry that comes too late: what its turn did is not done again. */
function over(): GatewayError {
  return new GatewayError('turn_ended', 'The turn of this request was left before its end, and is over; ask anew.')
}

function isRunning({ view }: TurnRow): boolean {
  return (JSON.parse(view) as { status: string }).status === 'running'
}

function answered(messages: readonly Message[]): readonly Message[] {
  const results = new Set(messages.flatMap(message => (message.role === 'tool' ? [message.callId] : [])))
  return messages.flatMap((message): readonly Message[] => {
    if (message.role !== 'assistant') return [message]
    return [message, ...message.calls.filter(({ id }) => !results.has(id)).map(notAnswered)]
  })
}
