import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { CaseKind } from '../../src/cases/case-kind.ts'
import { failuresOf } from '../../src/cases/failures-of.ts'
import { drawn, type Mutant, mutantsOf } from '../../src/cases/mutants.ts'
import { playAll } from '../../src/cases/play-all.ts'

/** What became of all cases of a kind; each is played once, and judged as often as it takes. */
export interface PlayedCases {
  readonly count: number
  /** Failures by case. */
  readonly failed: Readonly<Record<string, readonly string[]>>
  /** Every expected value of the cases that pass, made wrong. */
  readonly mutants: readonly Mutant[]
}

/** Cases that cannot pass yet, each with the reason. One of them that passes has to be taken off the list. */
const expectedFailures: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
  readFileSync('test/cases/expected-failures.json', 'utf8')
)

/** Plays all cases of a kind. */
export async function playedCases<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>
): Promise<PlayedCases> {
  const failed: Record<string, readonly string[]> = {}
  const mutants: Mutant[] = []
  const cases = await kind.read(`test/cases/${kind.name}`, {})
  await playAll(kind, cases, played => {
    const failures = failuresOf(kind, played)
    if (failures.length > 0) failed[played.case.id] = failures
    mutants.push(...mutantsOf(kind, played))
  })
  return { count: cases.length, failed, mutants }
}

/** Asserts that the cases of the list fail, and no others. */
export function onlyExpectedFail(t: Test, kind: string, { count, failed }: PlayedCases): void {
  const expected = expectedFailures[kind] ?? {}
  t.ok(count > 90, 'all cases were found')
  const unexpected = Object.entries(failed).filter(([id]) => expected[id] === undefined)
  t.strictSame(Object.fromEntries(unexpected), {}, 'no other case fails')
  const passing = Object.keys(expected).filter(id => failed[id] === undefined)
  t.strictSame(passing, [], 'no case of the list passes')
}

/** Asserts that the judge finds at least 99 % of 200 drawn wrong values, and of all of them those it has no excuse for. */
export function wrongValuesAreFound(t: Test, { mutants }: PlayedCases): void {
  const sample = drawn(mutants, 200, 2026)
  const survivors = (of: readonly Mutant[]) =>
    of.filter(mutant => mutant.survives()).map(({ kind, id, path }) => `${kind} ${id} ${path}`)
  t.equal(sample.length, 200)
  t.ok(new Set(sample.map(({ id }) => id)).size > 50, 'they are spread over the cases')
  const survived = survivors(sample)
  t.ok(survived.length <= 2, `survived: ${survived.join(', ')}`)
  const unexcused = mutants.filter(({ reason }) => reason === undefined)
  t.strictSame(survivors(unexcused), [], 'none of all of them survives without a known reason')
}
