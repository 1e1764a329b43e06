import type { Random } from '../laws/random.ts'

/** Tools of the world, by what it does to call one twice; each has this for its name. */
export const EFFECTS = ['read', 'idempotent', 'write'] as const
export type Effect = (typeof EFFECTS)[number]

/** One question, and what the model makes of it: the calls of each round, then an answer. */
export interface Plan {
  readonly question: string
  readonly rounds: readonly (readonly Effect[])[]
  readonly session?: string | undefined
  readonly key?: string | undefined
  readonly stream: boolean
  /** Sent once more after it was answered, as where the answer was lost on its way. */
  readonly isSentAgain: boolean
}

const SESSIONS = 24

/** `n`: number of the question. */
export function planOf(random: Random, n: number): Plan {
  const isKeyed = random.oneIn(2)
  return {
    question: `q${n}`,
    rounds: Array.from({ length: random.below(3) }, () =>
      Array.from({ length: 1 + random.below(3) }, () => random.pick(EFFECTS))
    ),
    session: random.oneIn(4) ? undefined : `s${random.below(SESSIONS)}`,
    key: isKeyed ? `key-${n}` : undefined,
    stream: random.oneIn(2),
    isSentAgain: isKeyed && random.oneIn(5)
  }
}
