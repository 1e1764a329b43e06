/** What a loop case demands: the recorded values as contract §16 maps them, and those of the file of expectations. */
import { type Fields, fieldsOf, isFields, listOf } from '../fields.ts'
import type { LoopCase, LoopSource } from './case.ts'
import { inMode } from './in-mode.ts'
import { recordedTurn } from './recorded.ts'

/** Fields of a turn have the names of `_format` in the file of expectations; a field that is absent is not compared. */
export interface Expectation {
  readonly turns: readonly Fields[]
  /** Only where the start is to be refused: `start`, `exit`, `requests_count`. */
  readonly start?: Fields
}

/** Inputs, and values that only hold in another mode; not compared as they stand. */
const NOT_COMPARED = ['script_extra', 'content_last']
/** Which field of the expectations stands in the place of which recorded one. */
const REPLACES: Readonly<Record<string, readonly string[]>> = {
  error: ['content', 'finish_reason', 'usage', 'loopgate', 'tool_calls', 'content_json']
}

/** Throws when the file of expectations says nothing of a case whose recorded values do not hold. */
export function expectationOf({ fixture, overlay }: LoopSource, mode: LoopCase['mode']): Expectation {
  const adopt = overlay?.adopt ?? fixture.adopt
  if (adopt !== 'same' && adopt !== 'differ') throw new Error(`adopt is ${String(adopt)}`)
  if (overlay === undefined && adopt === 'differ') throw new Error('the file of expectations has nothing for this case')
  const expect = fieldsOf(overlay?.expect)
  const { turns: _, ...start } = expect
  if ('start' in start) return { turns: [], start }
  const given = listOf(expect.turns).map(fieldsOf)
  const turns = listOf(fixture.turns).map(fieldsOf)
  return {
    turns: turns.map((turn, at) => {
      const recorded = adopt === 'same' ? recordedTurn(turn) : {}
      return inMode(merged(recorded, given[at] ?? {}), { fixture, turn, mode, given: given[at] ?? {} })
    })
  }
}

/** Recorded values, each replaced by the one given in its place. */
function merged(recorded: Fields, given: Fields): Fields {
  const replaced = new Set(Object.keys(given).flatMap(field => [field, ...(REPLACES[field] ?? [])]))
  const kept = Object.entries(recorded).filter(([field]) => !replaced.has(field))
  const mine = Object.entries(given).filter(([field]) => !NOT_COMPARED.includes(field))
  const all: Fields = Object.fromEntries([...kept, ...mine])
  if (!('tools_per_request' in given) || 'requests' in given) return withUsage(all, recorded, given)
  // The tools of each request are given apart from its messages.
  const requests = listOf(all.requests).map(request => {
    const { tools: _, ...rest } = fieldsOf(request)
    return rest
  })
  return withUsage('requests' in all ? { ...all, requests } : all, recorded, given)
}

/** An answer with a content and without usage has none; recorded figures that are all zero mean the same. */
function withUsage(all: Fields, recorded: Fields, given: Fields): Fields {
  if (isFields(all.usage)) return Object.values(all.usage).every(count => count === 0) ? { ...all, usage: null } : all
  return 'content' in given && !('usage' in recorded) ? { ...all, usage: null } : all
}
