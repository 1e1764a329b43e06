import type { Message, ToolMessage } from '../core/chat.ts'
import { lastAnswer, openCalls, roundsOfTurn } from '../core/conversation.ts'
import { type HeldCall, heldCalls } from '../core/held-calls.ts'
import { revise, type Turn } from '../core/turn.ts'
import { journalMessages } from './journal-messages.ts'

/** Runs the calls in these places of the turn's last batch, through all guards; `keep` hears what they come to. */
export type RunOpen = (turn: Turn, batch: readonly HeldCall[], places: ReadonlySet<number>) => Promise<void>

/** The turn with a result for every call: those that its last request has left open are run now (contract §4.1, 5a). */
export async function withOpenCalls(turn: Turn, run: RunOpen): Promise<Turn> {
  const { messages } = turn.prompt
  const open = new Set(openCalls(messages).map(({ id }) => id))
  const answer = lastAnswer(messages)
  if (open.size === 0 || answer === undefined) return turn
  const results: ToolMessage[] = []
  const keep = (message: Message): void => {
    if (message.role === 'tool') results.push(message)
    turn.keep?.(message)
  }
  const begun: Turn = { ...turn, round: roundsOfTurn(turn), keep }
  const batch = heldCalls(begun, [answer], [])
  await run(begun, batch, new Set(batch.flatMap(({ callId, index }) => (open.has(callId) ? [index] : []))))
  const at = messages.lastIndexOf(answer)
  const settled = journalMessages([...messages.slice(at), ...results])
  return revise(turn, { messages: [...messages.slice(0, at), ...settled] })
}
