/**
 * Is the runner itself to be trusted? Every case is played once; then each of its expected values is made wrong, one
 * at a time, and the case is judged again on what was seen. A wrong value that passes has survived.
 *
 *     npm run cases:mutate [-- --kinds wire,loop,tool-search] [--folder test/cases] [--only 003,010]
 *       [--sample N] [--seed S] [--json]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CaseKind } from './case-kind.ts'
import { loop } from './loop/kind.ts'
import { drawn, type Mutant, mutantsOf } from './mutants.ts'
import { playAll } from './play-all.ts'
import { isChosen } from './run.ts'
import { toolSearchKind } from './tool-search/kind.ts'
import { wire } from './wire/kind.ts'

/** All kinds of cases that there are. */
const KINDS = ['wire', 'loop', 'tool-search'] as const
type Kind = (typeof KINDS)[number]

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
  /** Default all. */
  readonly kinds?: readonly Kind[]
  /** Folder with a folder of each kind. Default `test/cases`. */
  readonly folder?: string
  readonly only?: readonly string[]
  /** Judge only so many of the wrong values, chosen by `seed`. */
  readonly sample?: number
  readonly seed?: number
}

/** At least so many of a hundred wrong values must be found. */
const LEAST_PERCENT = 99

/** Plays the cases of all kinds and judges each wrong value. */
export async function mutate(options: MutationOptions = {}): Promise<MutationReport> {
  const { kinds = KINDS, folder = 'test/cases', only, sample, seed = 1 } = options
  const mutants: Mutant[] = []
  const not: Record<string, number> = {}
  let cases = 0
  const play = async <Case extends { readonly id: string }, Observation>(kind: CaseKind<Case, Observation>) => {
    const all = await kind.read(join(folder, kind.name), {})
    const chosen = all.filter(({ id }) => isChosen(id, only))
    await playAll(kind, chosen, played => {
      const mine = mutantsOf(kind, played)
      if (mine.length > 0) cases++
      mutants.push(...mine)
      for (const path of mine.length > 0 ? (kind.uncompared?.(played.case) ?? []) : []) not[path] = (not[path] ?? 0) + 1
    })
  }
  if (kinds.includes('wire')) await play(wire)
  if (kinds.includes('loop')) await play(loop)
  if (kinds.includes('tool-search')) await play(toolSearchKind)
  const chosen = sample === undefined ? mutants : drawn(mutants, sample, seed)
  const survived = chosen
    .filter(mutant => mutant.survives())
    .map(({ kind, id, path, reason = 'no reason is known' }) => ({ kind, id, path, reason }))
  return { cases, falsified: chosen.length, survived, uncompared: not }
}

/** Were enough of the wrong values found? */
export function isTrustworthy({ falsified, survived }: MutationReport): boolean {
  return falsified > 0 && (falsified - survived.length) * 100 >= falsified * LEAST_PERCENT
}

function isKind(word: string): word is Kind {
  return KINDS.some(kind => kind === word)
}

function print(report: MutationReport): void {
  const { cases, falsified, survived } = report
  for (const { kind, id, path, reason } of survived) console.log(`survived ${kind} ${id} ${path}: ${reason}`)
  const named = Object.entries(report.uncompared).toSorted(([a], [b]) => a.localeCompare(b))
  for (const [path, count] of named) console.log(`not compared (${count}×) ${path}`)
  console.log(`${cases} cases that pass, ${falsified} expected values made wrong, ${survived.length} of them survived`)
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
  const kinds = values.kinds?.split(',') ?? KINDS
  if (!kinds.every(isKind)) {
    console.error(`--kinds takes ${KINDS.join(', ')}, not ${values.kinds}.`)
    process.exit(2)
  }
  const report = await mutate({
    kinds,
    ...(values.folder !== undefined && { folder: values.folder }),
    ...(values.only !== undefined && { only: values.only.split(',') }),
    ...(values.sample !== undefined && { sample: Number(values.sample) }),
    ...(values.seed !== undefined && { seed: Number(values.seed) })
  })
  if (values.json) console.log(JSON.stringify(report))
  else print(report)
  process.exitCode = isTrustworthy(report) ? 0 : 1
}
