import type { Answer, AssistantMessage, Tool } from '../core/chat.ts'
import { hasGatewayTool } from '../core/has-gateway-tool.ts'
import type { Turn } from '../core/turn.ts'

/**
 * Are there calls to go on with? Presence decides, not the label; but calls that the output limit or a filter cut are
 * never run, nor those under a label that is not in the operator's list, where there is one.
 */
export function hasCalls(reply: Answer, eligible: ReadonlySet<string> | undefined): boolean {
  if (reply.finish !== 'stop' || reply.message.calls.length === 0) return false
  return eligible === undefined || eligible.has((reply.finishReason ?? '').toLowerCase())
}

/** Positions of the calls that are the client's to go on with: those of its own tools, and under `manual` all. */
export function clientsCalls({ policy }: Turn, reply: Answer): ReadonlySet<number> {
  const isManual = policy.toolExecution === 'manual'
  const { calls } = reply.message
  return new Set(calls.keys().filter(at => isManual || isClients(reply.offered.get(calls[at]?.name ?? ''), reply)))
}

/** With no tool of ours in sight whatever the model calls is the client's business. */
function isClients(tool: Tool | undefined, reply: Answer): boolean {
  if (tool) return tool.run === undefined
  return !hasGatewayTool(reply.offered)
}

/**
 * What the client gets of a message whose calls nothing comes of: only its own, and none that were cut off. A gateway
 * tool that was called under a label that is not eligible has not run; the answer's notes say so.
 */
export function forClient(turn: Turn, reply: Answer): AssistantMessage {
  const { message, offered, finish } = reply
  const isManual = turn.policy.toolExecution === 'manual'
  if (!isManual && finish !== 'stop' && hasGatewayTool(offered)) {
    return { ...message, calls: [] }
  }
  const own = clientsCalls(turn, reply)
  if (own.size === message.calls.length) return message
  for (const [at, { name }] of message.calls.entries()) {
    if (!own.has(at)) turn.tell({ type: 'note', note: `not_run:${name}` })
  }
  return { ...message, calls: message.calls.filter((_, at) => own.has(at)) }
}
