import type { CaseKind, Played, Stage } from './case-kind.ts'

/** Gateways that run at the same time: more would disturb the times that cases demand. */
const PARALLEL = 2

/**
 * Plays all cases, those of one group on one gateway, and hands them on in the given order as soon as all before them
 * are there.
 */
export async function playAll<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  cases: readonly Case[],
  onPlayed: (played: Played<Case, Observation>) => void
): Promise<void> {
  const done = new Map<Case, Played<Case, Observation>>()
  let next = 0
  const report = (played: Played<Case, Observation>) => {
    done.set(played.case, played)
    for (;;) {
      const one = cases[next]
      const ready = one && done.get(one)
      if (!ready) return
      next++
      onPlayed(ready)
    }
  }
  const groups = [...Map.groupBy(cases, one => kind.groupOf(one)).values()]
  // The longest first, so that the last ones to end are short.
  const waiting = groups.toSorted((a, b) => b.length - a.length)
  const work = async () => {
    for (let group = waiting.shift(); group; group = waiting.shift()) await playGroup(kind, group, report)
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
}

async function playGroup<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  cases: readonly Case[],
  report: (played: Played<Case, Observation>) => void
): Promise<void> {
  let stage: Stage<Case, Observation> | undefined
  for (const one of cases) {
    try {
      if (stage && !stage.isUsable()) {
        await stage.close()
        stage = undefined
      }
      stage ??= await kind.open(one)
      report({ case: one, observation: await stage.play(one) })
    } catch (error) {
      report({ case: one, failure: error instanceof Error ? error.message : String(error) })
    }
  }
  await stage?.close()
}
