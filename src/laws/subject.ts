import type { Advisor } from '../core/turn.ts'
import type { Sessions } from './sessions.ts'

/** An advisor, made anew for every play, and where it may stand. */
export interface Subject {
  readonly name: string
  readonly places: readonly ('turn' | 'call')[]
  /** `sessions`: the store of the play, with turns from before. */
  create(sessions: Sessions): Advisor
}
