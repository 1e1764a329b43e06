import { playAll } from '../play-all.ts'
import { type Figures, meanOf, showFigures } from './figures.ts'
import { toolSearchKind } from './kind.ts'

export interface ToolSearchCasesOptions {
  /** Names of files, without `.json`; `mixed` too. Default: all. */
  readonly only?: readonly string[]
  /** Prints one JSON object a line in place of text. */
  readonly json?: boolean
  /** Where lines go. Default: stdout. */
  readonly print?: (line: string) => void
}

/**
 * Plays every file of the folder, and `mixed`, against a gateway that is started for it. Prints the figures of each by
 * kind of query, whether it passed, and last the means. A folder without cases or without floors fails.
 */
export async function runToolSearchCases(
  folder: string,
  options: ToolSearchCasesOptions = {}
): Promise<{ passed: number; failed: number }> {
  const { only, json = false, print = console.log } = options
  const report = json ? jsonLines(print) : textLines(print)
  const cases = await toolSearchKind.read(folder, { ...(only && { only }) })
  if (cases.length === 0) {
    report.case(folder, {}, ['there is no such case'])
    return { passed: 0, failed: 1 }
  }
  const measured: Figures[] = []
  let passed = 0
  await playAll(toolSearchKind, cases, played => {
    const figures = 'observation' in played ? played.observation : {}
    const differs = 'failure' in played ? [played.failure] : toolSearchKind.judge(played.case, figures)
    measured.push(figures)
    report.case(played.case.id, figures, differs)
    if (differs.length === 0) passed++
  })
  report.macro(meanOf(measured))
  return { passed, failed: cases.length - passed }
}

interface Report {
  case(id: string, figures: Figures, differs: readonly string[]): void
  macro(figures: Figures): void
}

function textLines(print: (line: string) => void): Report {
  return {
    case(id, figures, differs) {
      for (const [kind, each] of Object.entries(figures)) print(`${id} ${kind}  ${showFigures(each)}`)
      print(differs.length === 0 ? `ok tool-search ${id}` : `FAIL tool-search ${id}: ${differs.join('; ')}`)
    },
    macro(figures) {
      for (const [kind, each] of Object.entries(figures)) print(`macro ${kind}  ${showFigures(each)}`)
    }
  }
}

function jsonLines(print: (line: string) => void): Report {
  return {
    case: (id, figures, differs) =>
      print(JSON.stringify({ kind: 'tool-search', id, ok: differs.length === 0, differs, figures })),
    macro: figures => print(JSON.stringify({ kind: 'tool-search', macro: figures }))
  }
}
