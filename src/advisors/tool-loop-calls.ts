import type { Answer, AssistantMessage, Tool } from '../core/chat.ts'
import type { Turn } from '../core/turn.ts'

/**
 * Are there calls for the gateway to run? Presence decides, not the label; but calls that the output limit or a filter
 * cut are never run, nor those under a label that is not in the operator's list, where there is one.
 */
export function hasCallsToRun(reply: Answer, eligible: ReadonlySet<string> | undefined): boolean {
  if (reply.finish !== 'stop' || reply.message.calls.length === 0) return false
  if (!isEligible(reply, eligible)) return false
  return !reply.message.calls.some(call => isClients(reply.offered.get(call.name), reply))
}

function isEligible({ finishReason = '' }: Answer, eligible: ReadonlySet<string> | undefined): boolean {
  return eligible === undefined || eligible.has(finishReason.toLowerCase())
}

/** With no tool of ours in sight whatever the model calls is the client's business. */
function isClients(tool: Tool | undefined, reply: Answer): boolean {
  if (tool) return tool.run === undefined
  return !reply.offered.values().some(each => each.run !== undefined)
}

/**
 * What the client gets of the last message: only its own calls, and none that were cut off. A gateway tool that was
 * called beside them has not run, nor one under a label that is not eligible; the answer's notes say so.
 */
export function forClient(turn: Turn, reply: Answer, eligible: ReadonlySet<string> | undefined): AssistantMessage {
  const isCut = reply.finish !== 'stop' && reply.offered.values().some(tool => tool.run !== undefined)
  if (isCut) return { ...reply.message, calls: [] }
  const own = reply.message.calls.filter(call => isClients(reply.offered.get(call.name), reply))
  if (own.length === reply.message.calls.length) return reply.message
  const word = isEligible(reply, eligible) ? 'deferred' : 'not_run'
  const others = reply.message.calls.filter(call => !own.includes(call))
  for (const { name } of others) turn.tell({ type: 'note', note: `${word}:${name}` })
  return { ...reply.message, calls: own }
}
