import type { CaseKind, Played } from './case-kind.ts'

/** What differs; a case that could not be played, and one that cannot be judged, differ in that. */
export function failuresOf<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  played: Played<Case, Observation>
): readonly string[] {
  if ('failure' in played) return [played.failure]
  try {
    return kind.judge(played.case, played.observation)
  } catch (error) {
    return [`it cannot be judged: ${String(error)}`]
  }
}
