import type { Message, Usage } from '../core/chat.ts'
import type { Turn } from '../core/turn.ts'
import type { Limit } from './tool-loop-limits.ts'
import type { Settled } from './tool-loop-run.ts'

/** How far a turn has come in the loop. */
export interface Progress {
  /** As it came into the loop. */
  readonly asked: Turn
  /** With the messages of the rounds so far. */
  readonly turn: Turn
  readonly usage: Usage | undefined
  /** What the last batch came to. */
  readonly batch: readonly Settled[]
  /** Rounds in a row, up to the last, in which calls were made and none ran. */
  readonly idle: number
  /** The limit for which the next round is the last: the model may say something, but not call. */
  readonly last?: Limit
}

/** The messages of the rounds so far. */
export function added({ asked, turn }: Pick<Progress, 'asked' | 'turn'>): readonly Message[] {
  return turn.prompt.messages.slice(asked.prompt.messages.length)
}
