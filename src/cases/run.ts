import type { CaseKind, Options } from './case-kind.ts'
import { failuresOf } from './failures-of.ts'
import { loop } from './loop/kind.ts'
import { playAll } from './play-all.ts'
import { runToolSearchCases } from './tool-search/run.ts'
import { wire } from './wire/kind.ts'

export interface RunOptions extends Options {
  /** Prints one JSON object a line in place of text. */
  readonly json?: boolean
}

export interface Verdict {
  readonly id: string
  /** What differed; empty when the case passed. */
  readonly failures: readonly string[]
}

/**
 * Plays a folder of cases against gateways that it starts, and prints a line a case in the order of their names, then
 * `N passed, N failed` (contract §16). Resolves to the exit code: 0 when all passed.
 */
export async function runCases(
  kind: 'wire' | 'loop' | 'tool-search',
  folder: string,
  { json = false, ...options }: RunOptions = {}
): Promise<number> {
  const { passed, failed } =
    kind === 'tool-search'
      ? await runToolSearchCases(folder, { ...options, json })
      : await playAndPrint(kind, folder, options, json)
  console.log(json ? JSON.stringify({ kind, passed, failed }) : `${passed} passed, ${failed} failed`)
  // Nothing played is nothing proved.
  return failed === 0 && passed > 0 ? 0 : 1
}

async function playAndPrint(kind: 'wire' | 'loop', folder: string, options: Options, json: boolean) {
  const count = { passed: 0, failed: 0 }
  const told = ({ id, failures }: Verdict) => {
    count[failures.length === 0 ? 'passed' : 'failed']++
    if (json) console.log(JSON.stringify({ kind, id, ok: failures.length === 0, differs: failures }))
    else console.log(line(kind, { id, failures }))
  }
  await (kind === 'wire' ? judgeAll(wire, folder, options, told) : judgeAll(loop, folder, options, told))
  return count
}

/** Plays and judges the cases of a folder, and hands on each verdict in the order of the names. */
export async function judgeAll<Case extends { readonly id: string }, Observation>(
  kind: CaseKind<Case, Observation>,
  folder: string,
  options: Options,
  told: (verdict: Verdict) => void
): Promise<void> {
  const cases = (await kind.read(folder, options)).filter(({ id }) => isChosen(id, options.only))
  await playAll(kind, cases, played => told({ id: played.case.id, failures: failuresOf(kind, played) }))
}

/** Is the case among those asked for, by its number or its whole name? */
export function isChosen(id: string, only: readonly string[] | undefined): boolean {
  return only?.some(name => id === name || id.startsWith(`${name}-`)) ?? true
}

function line(kind: string, { id, failures }: Verdict): string {
  if (failures.length === 0) return `ok ${kind} ${id}`
  return `FAIL ${kind} ${id}: ${failures.join('; ').replaceAll(/\s*\n\s*/g, ' ')}`
}
