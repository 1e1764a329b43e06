import type { Message } from '../core/chat.ts'
import type { MemoryPolicy } from '../core/policy.ts'
import { bytesOf } from './memory-bytes.ts'

/**
 * Past turns taken whole, newest first, while they fit every bound; `turns` and the result are oldest first. When not
 * even the newest fits, its `ends` are taken (contract §4.9). Tokens are reckoned as bytes ÷ 4.
 */
export function withinWindow(
  turns: readonly (readonly Message[])[],
  window: MemoryPolicy['window'],
  ends: (newest: readonly Message[]) => readonly Message[]
): readonly (readonly Message[])[] {
  const { maxTurns = Infinity, maxMessages = Infinity, maxTokens = Infinity } = window
  let messages = 0
  let bytes = 0
  let from = turns.length
  while (from > 0 && turns.length - from < maxTurns) {
    const turn = turns[from - 1] as readonly Message[]
    messages += turn.length
    if (maxTokens !== Infinity) bytes += bytesOf(turn)
    if (messages > maxMessages || bytes / 4 > maxTokens) break
    from--
  }
  if (from < turns.length) return turns.slice(from)
  const newest = turns.at(-1)
  return newest && maxTurns > 0 ? [ends(newest)] : []
}
