import type { Tool, ToolCall, ToolMessage } from '../core/chat.ts'
import { lastAnswer } from '../core/conversation.ts'
import { newMessageId } from '../core/ids.ts'
import type { Breach, Run, ToolResult, Turn } from '../core/turn.ts'
import { toldOf } from './tool-loop-told.ts'

/** A call with what came of it, and the message that tells the model. */
export interface Settled {
  readonly call: ToolCall
  readonly result: ToolResult
  readonly message: ToolMessage
}

/** Runs a call by the tool of its name among those the model was shown (`turn.prompt.tools`). */
export const runOffered: Run = async (call, turn) => {
  const tool = turn.prompt.tools.get(call.name)
  return tool?.run ? tool.run(call, turn) : notFound(call.name, turn.prompt.tools)
}

/** One text whether a tool is unknown, not revealed, not attached or not allowed: nothing is given away. */
function notFound(name: string, offered: ReadonlyMap<string, Tool>): ToolResult {
  const available = [...offered.keys()].slice(0, 20).join(', ')
  return {
    content: `There is no tool named ${name}. Available: ${available || 'none'}.`,
    status: 'refused',
    code: 'tool_not_found'
  }
}

/**
 * Runs the calls of the turn's last message, all at once up to the policy's `maxParallel`, or one by one where a tool
 * or the request wants it. Every call settles on its own; the results stand in the order of the calls. `isOurs`: only
 * the calls in these places. Default: all.
 */
export async function runBatch(
  turn: Turn,
  run: Run,
  isOurs: (index: number) => boolean = () => true
): Promise<readonly Settled[]> {
  const calls = lastAnswer(turn.prompt.messages)?.calls ?? []
  const results: (Settled | undefined)[] = calls.map(() => undefined)
  const queue = calls.entries().filter(([index]) => isOurs(index))
  const failures: unknown[] = []
  const worker = async () => {
    for (const [index, call] of queue) {
      if (failures.length > 0) return
      try {
        results[index] = await settle(call, index, turn, run)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width(calls, turn), calls.length) }, worker))
  if (failures.length > 0) throw failures[0]
  turn.signal.throwIfAborted()
  return results.filter(each => each !== undefined)
}

/** Did the tool run, whatever came of it? Not so where a guard refused the call, or nobody has a tool of its name. */
export function hasRun({ result }: Settled): boolean {
  return isRun(result)
}

function isRun({ status }: ToolResult): boolean {
  return status === 'ok' || status === 'error' || status === 'unknown'
}

/** The same batch when a limit of the whole turn was met before it: nothing runs, every call is told so. */
export function refuseBatch(
  turn: Turn,
  { text, ...breach }: Breach & { text: string },
  isOurs: (index: number) => boolean = () => true
): readonly Settled[] {
  const calls = lastAnswer(turn.prompt.messages)?.calls ?? []
  return [...calls.entries()].flatMap(([index, call]) => {
    if (!isOurs(index)) return []
    const result: ToolResult = { content: text, status: 'refused', code: 'tool_limit', breach }
    turn.tell({
      type: 'tool.end',
      ...toldOf(call, index, turn),
      status: 'refused',
      code: 'tool_limit',
      attempts: 0,
      durationMs: 0
    })
    return [settled(call, result, turn)]
  })
}

function width(calls: readonly ToolCall[], turn: Turn): number {
  if (turn.prompt.params.parallel_tool_calls === false) return 1
  const sequential = calls.some(({ name }) => turn.prompt.tools.get(name)?.sequential)
  return sequential ? 1 : turn.policy.maxParallel
}

async function settle(call: ToolCall, index: number, turn: Turn, run: Run): Promise<Settled> {
  turn.signal.throwIfAborted()
  const startedAt = performance.now()
  const told = toldOf(call, index, turn)
  const end = { type: 'tool.end', ...told } as const
  const { round, callId, augmented } = told
  turn.tell({ type: 'tool.start', round, callId, tool: call.name, ...(augmented && { augmented }) })
  try {
    const result = await run(call, turn)
    turn.tell({
      ...end,
      status: result.status,
      ...(result.code && { code: result.code }),
      ...(result.webhookId && { webhookId: result.webhookId }),
      attempts: result.attempts ?? 0,
      durationMs: performance.now() - startedAt
    })
    return settled(call, result, turn)
  } catch (error) {
    // The turn ends here: what the tool did, if it had begun, nobody will know.
    const durationMs = performance.now() - startedAt
    turn.tell({ ...end, status: 'unknown', code: 'tool_cancelled', attempts: 0, durationMs })
    throw error
  }
}

function settled(call: ToolCall, result: ToolResult, turn: Turn): Settled {
  const message = messageOf(call, result)
  turn.keep?.(message)
  return { call, result, message }
}

function messageOf(call: ToolCall, result: ToolResult): ToolMessage {
  const { breach } = result
  return {
    role: 'tool',
    id: newMessageId(),
    callId: call.id,
    content: result.content,
    ...(result.status !== 'ok' && { isError: true as const }),
    ...(!isRun(result) && { unrun: breach ? { breach } : {} })
  }
}
