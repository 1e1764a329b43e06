/**
 * Is the runner itself to be trusted? Every case is played once; then each of its expected values is made wrong, one at a
 * time, and the case is judged again on what was seen. A wrong value that passes has survived.
 *
 *     npm run cases:mutate [-- --kinds wire,loop] [--folder test/cases] [--only 003,010] [--sample N] [--seed S] [--json]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CaseKind, Falsified, Played } from './case-kind.ts'
import { uncompared } from './loop/falsified.ts'
import { loop } from './loop/kind.ts'
import { playAll } from './play-all.ts'
import { failuresOf, isChosen } from './run.ts'
import { wire } from './wire/kind.ts'

export interface MutationReport {
  /** Cases that passed as they are. */
  readonly cases: number
  /** Expected values that were made wrong. */
  readonly falsified: number
  readonly survived: readonly Survivor[]
  /** Recorded values that are no expected ones, with how often they were met. */
  readonly uncompared: Readonly<Record<string, number>>
}

export interface Survivor {
  readonly kind: string
  readonly id: string
  readonly path: string
  readonly reason: string
}

export interface MutationOptions {
  /** Default both. */
  readonly kinds?: readonly ('wire' | 'loop')[]
  /** Folder with a folder of each kind. Default `test/cases`. */
  readonly folder?: string
  readonly only?: readonly string[]
  /** Judge only so many of the wrong values, chosen by `seed`. */
  readonly sample?: number
  readonly seed?: number
}

type Mutant = Omit<Survivor, 'reason'> & { readonly reason: string | undefined; readonly survives: () => boolean }

/** At least so many of a hundred wrong values must be found. */
const LEAST_PERCENT = 99

export async function mutate(options: MutationOptions = {}): Promise<MutationReport> {
  const { kinds = ['wire', 'loop'], folder = 'test/cases', only, sample, seed = 1 } = options
  const mutants: Mutant[] = []
  const not: Record<string, number> = {}
  let cases = 0
  if (kinds.includes('wire')) {
    for (const played of await passing(wire, join(folder, 'wire'), only)) {
      cases++
      mutants.push(...mutantsOf(wire, played))
    }
  }
  if (kinds.includes('loop')) {
    for (const played of await passing(loop, join(folder, 'loop'), only)) {
      cases++
      mutants.push(...mutantsOf(loop, played))
      for (const path of uncompared(played.case)) not[path] = (not[path] ?? 0) + 1
    }
  }
  const chosen = sample === undefined ? mutants : drawn(mutants, sample, seed)
  const survived = chosen
    .filter(({ survives }) => survives())
    .map(({ kind, id, path, reason = 'no reason is known' }) => ({ kind, id, path, reason }))
  return { cases, falsified: chosen.length, survived, uncompared: not }
}

/** Were enough of the wrong values found? */
export function isTrustworthy({ falsified, survived }: MutationReport): boolean {
  return falsified > 0 && (falsified - survived.length) * 100 >= falsified * LEAST_PERCENT
}

type Seen<Case, Observation> = Extract<Played<Case, Observation>, { observation: Observation }>

async function passing<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  folder: string,
  only: readonly string[] | undefined
): Promise<readonly Seen<Case, Observation>[]> {
  const passed: Seen<Case, Observation>[] = []
  const cases = (await kind.read(folder, {})).filter(({ id }) => isChosen(id, only))
  await playAll(kind, cases, played => {
    if ('observation' in played && failuresOf(kind, played).length === 0) passed.push(played)
  })
  return passed
}

function mutantsOf<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  { case: one, observation }: Seen<Case, Observation>
): readonly Mutant[] {
  return kind.falsified(one).map(({ path, case: wrong, reason }: Falsified<Case>) => ({
    kind: kind.name,
    id: one.id,
    path,
    reason,
    survives: () => failuresOf(kind, { case: wrong, observation }).length === 0
  }))
}

/** So many of the list, the same for the same seed. */
function drawn<T>(list: readonly T[], count: number, seed: number): readonly T[] {
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

function print(report: MutationReport): void {
  const { cases, falsified, survived } = report
  for (const { kind, id, path, reason } of survived) console.log(`survived ${kind} ${id} ${path}: ${reason}`)
  const named = Object.entries(report.uncompared).toSorted(([a], [b]) => a.localeCompare(b))
  for (const [path, count] of named) console.log(`not compared (${count}×) ${path}`)
  const found = falsified - survived.length
  console.log(`${cases} cases that pass, ${falsified} expected values made wrong, ${survived.length} of them survived`)
  console.log(`${found} passed, ${survived.length} failed`)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kinds: { type: 'string' },
      folder: { type: 'string' },
      only: { type: 'string' },
      sample: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean' }
    }
  })
  const report = await mutate({
    ...(values.kinds !== undefined && { kinds: values.kinds.split(',') as ('wire' | 'loop')[] }),
    ...(values.folder !== undefined && { folder: values.folder }),
    ...(values.only !== undefined && { only: values.only.split(',') }),
    ...(values.sample !== undefined && { sample: Number(values.sample) }),
    ...(values.seed !== undefined && { seed: Number(values.seed) })
  })
  if (values.json) console.log(JSON.stringify(report))
  else print(report)
  process.exitCode = isTrustworthy(report) ? 0 : 1
}
