import type { Falsified } from '../case-kind.ts'
import { falsify, pathText, type Wrongly } from '../falsify.ts'
import { fieldsOf, listOf } from '../fields.ts'
import { sameValue } from '../same-value.ts'
import { loopCase, type ReadCase } from './read.ts'

/** What was recorded: all else in a fixture is input. */
const RECORDED = [
  'requestsSeen',
  'toolCallsExecuted',
  'callerSaw',
  'memoryAfter',
  'toolIndexOps',
  'augmentedArgumentsSeen'
]

/**
 * The case with each expected value made wrong: every value in the file of expectations, and of the recorded ones those
 * that are held against this gateway. A recorded value from which no expectation follows (another stands in its place,
 * or contract §16 compares nothing with it) is none; `uncompared` has those.
 */
export function falsifiedLoop(one: ReadCase): readonly Falsified<ReadCase>[] {
  const { fixture, overlay } = one.source
  const given = [...falsify(overlay?.expect, wrongly)].map(({ path, root }) => {
    const reason = excuseOf(path)
    return {
      path: pathText(['expect', ...path]),
      case: loopCase(one.id, { fixture, overlay: { ...overlay, expect: root } }, one.tools, one.mode),
      ...(reason !== undefined && { reason })
    }
  })
  return [...(overlay ? given : []), ...recorded(one).filter(({ isCompared }) => isCompared)]
}

/** Why a value may be wrong unseen. */
function excuseOf(path: Parameters<Wrongly>[0]): string | undefined {
  if (path.includes('equals_or_absent')) return 'nothing stands there, which is right whatever the value is'
  const isCallId = path.includes('tool_calls') && path.at(-1) === 'id'
  return isCallId ? 'the id of a call may be another one, and it stands in one place only' : undefined
}

/** Recorded values from which no expectation follows, by their path without positions. */
export function uncompared(one: ReadCase): readonly string[] {
  return recorded(one)
    .filter(({ isCompared }) => !isCompared)
    .map(({ path }) => path.replaceAll(/\[\d+\]/g, '[]'))
}

function recorded(one: ReadCase): readonly (Falsified<ReadCase> & { readonly isCompared: boolean })[] {
  const { fixture } = one.source
  const turns = listOf(fixture.turns).map(turn =>
    Object.fromEntries(Object.entries(fieldsOf(turn)).filter(([key]) => RECORDED.includes(key)))
  )
  return [...falsify(turns, wrongly)].map(({ path, root }) => {
    const merged = listOf(fixture.turns).map((turn, at) => ({ ...fieldsOf(turn), ...fieldsOf(listOf(root)[at]) }))
    const wrong = loopCase(one.id, { ...one.source, fixture: { ...fixture, turns: merged } }, one.tools, one.mode)
    return {
      path: pathText(['turns', ...path]),
      case: wrong,
      isCompared: !sameValue(wrong.expected, one.expected)
    }
  })
}

const wrongly: Wrongly = (path, value) => {
  const name = path.at(-1)
  // Input of the run, and what another mode compares.
  if (path.includes('script_extra') || name === 'content_last') return 'skip'
  // A parameter that the search tool has.
  if (path.includes('search_tool_has_no') && typeof value === 'string') return { value: 'query' }
  return undefined
}
