import type { CaseKind, Played } from './case-kind.ts'
import { failuresOf } from './failures-of.ts'

/** A case with one expected value made wrong. */
export interface Mutant {
  readonly kind: string
  readonly id: string
  /** Where the value stands. */
  readonly path: string
  /** Why it may pass, where that is known. */
  readonly reason?: string
  /** Does the case pass nevertheless, judged on what was seen when it was played as it is? */
  survives(): boolean
}

/** All mutants of a case that was played and passed; none of one that did not. */
export function mutantsOf<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  played: Played<Case, Observation>
): readonly Mutant[] {
  if ('failure' in played || failuresOf(kind, played).length > 0) return []
  const { case: one, observation } = played
  return kind.falsified(one).map(({ path, case: wrong, reason }) => ({
    kind: kind.name,
    id: one.id,
    path,
    ...(reason !== undefined && { reason }),
    survives: () => failuresOf(kind, { case: wrong, observation }).length === 0
  }))
}

/** So many of a list, the same ones for the same seed. */
export function drawn<T>(list: readonly T[], count: number, seed: number): readonly T[] {
  let state = seed
  const next = () => {
    // A linear congruence is random enough to spread a sample.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
  return list
    .map(one => ({ one, at: next() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ one }) => one)
}
