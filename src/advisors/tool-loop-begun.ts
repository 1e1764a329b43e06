import type { ToolCall } from '../core/chat.ts'
import { messagesOfTurn } from '../core/conversation.ts'
import type { Turn } from '../core/turn.ts'
import { lastBy } from './tool-loop-breaches.ts'
import type { Progress } from './tool-loop-progress.ts'
import { hasRun, type Settled } from './tool-loop-run.ts'

/**
 * How far the turn has come where the loop takes it up, by its messages: limits hold for a turn over all its requests
 * (contract §4.3). Nothing lies behind a turn whose last word was an answer.
 */
export function begun(asked: Turn): Progress {
  const batches = batchesOf(asked)
  const batch = batches.at(-1) ?? []
  const idle = batches.length - 1 - batches.findLastIndex(each => each.some(hasRun))
  const last = lastBy({ batch, idle })
  return { asked, turn: asked, usage: undefined, batch, idle, ...(last && { last }) }
}

function batchesOf(turn: Turn): readonly (readonly Settled[])[] {
  let batches: Settled[][] = []
  let calls: readonly ToolCall[] = []
  for (const message of messagesOfTurn(turn)) {
    if (message.role === 'assistant') {
      calls = message.calls
      batches = calls.length === 0 ? [] : [...batches, []]
    } else if (message.role === 'tool') {
      const call = calls.find(({ id }) => id === message.callId)
      const { content, isError, unrun } = message
      const status = unrun ? 'refused' : isError ? 'error' : 'ok'
      const result = { content, status, ...(unrun?.breach && { breach: unrun.breach }) } as const
      if (call) batches.at(-1)?.push({ call, result, message })
    }
  }
  return batches
}
