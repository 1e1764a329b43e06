import type { Answer, AssistantMessage, Message } from '../core/chat.ts'
import { lastAnswer } from '../core/conversation.ts'
import { hasGatewayTool } from '../core/has-gateway-tool.ts'
import { heldCalls } from '../core/held-calls.ts'
import { revise, type Turn } from '../core/turn.ts'
import { added, type Progress } from './tool-loop-progress.ts'
import type { Speaker } from './tool-loop-speaker.ts'
import { toldOf } from './tool-loop-told.ts'

export interface Batch {
  readonly round: number
  readonly reply: Answer
  /** As the conversation keeps it: for running, and for the model and memory. */
  readonly asWritten: readonly Message[]
  readonly asReplayed: readonly Message[]
  /** Positions of the calls that are the client's to go on with. */
  readonly theirs: ReadonlySet<number>
}

/**
 * Does the gateway have to keep something until the client goes on: calls of its own tools, what it did before, or what
 * only the provider understands? Else all there is to know stands in what the client is given.
 */
export function mustBeHeld({ asked, turn }: Progress, { message, offered }: Answer): boolean {
  if (asked.resumes !== undefined || turn.prompt.messages.length > asked.prompt.messages.length) return true
  const hasOurs = message.calls.some(({ name }) => offered.get(name)?.run !== undefined)
  return hasOurs || (message.native !== undefined && hasGatewayTool(offered))
}

/**
 * The batch goes to the client: it gets its own calls only, while the conversation has all of them, with the results of
 * those that ran (contract §4.5, §4.7). `progress` has come to the end of this batch.
 */
export async function handedOver(
  progress: Progress,
  speaker: Speaker,
  { round, reply, asWritten, theirs }: Batch
): Promise<Answer> {
  const { usage, turn, asked, batch } = progress
  const offering: Turn = { ...revise(turn, { tools: reply.offered }), round }
  const results = batch.map(each => each.message)
  const held = heldCalls(offering, asWritten, results)
  const written = lastAnswer(asWritten) ?? reply.message
  for (const [index, call] of written.calls.entries()) {
    if (held[index]?.state === 'requested') offering.tell({ type: 'tool.open', ...toldOf(call, index, offering) })
  }
  const message: AssistantMessage = { ...written, calls: written.calls.filter((_, at) => theirs.has(at)) }
  await speaker.end(message.calls)
  const { usage: _ofLastRound, ...rest } = reply
  return {
    ...rest,
    message,
    messages: added({ asked, turn }),
    finish: 'client_calls',
    ...(usage && { usage }),
    held
  }
}
