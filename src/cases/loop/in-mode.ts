/** What a turn comes to when it is played in another mode than it was recorded in (contract §15, `--mode`). */
import { type Fields, fieldsOf, isFields, listOf, stringOf } from '../fields.ts'
import type { LoopCase } from './case.ts'
import { completionOf } from './recast.ts'

interface Playing {
  readonly fixture: Fields
  readonly turn: Fields
  readonly mode: LoopCase['mode']
  /** The turn in the file of expectations. */
  readonly given: Fields
}

export function inMode(expected: Fields, playing: Playing): Fields {
  if (playing.mode === 'recorded') return expected
  const { pieces: _, ...whole } = expected
  const rounds = listOf(whole.rounds).map(round => {
    const { pieces: _, ...rest } = fieldsOf(round)
    return rest
  })
  const base = 'rounds' in whole ? { ...whole, rounds } : whole
  return playing.mode === 'call' ? asCall(base, playing) : asStream(base, playing)
}

/** A call answers with the last round, and an error of a stream has its own status. */
function asCall(expected: Fields, { given }: Playing): Fields {
  const last = 'content_last' in given ? { ...expected, content: given.content_last } : expected
  const error = last.error
  if (!isFields(error) || error.in_stream !== true) return last
  return { ...last, error: { ...error, in_stream: false, status: error.code === 'upstream_timeout' ? 504 : 502 } }
}

/** A stream has the preambles in front of the answer, and once something was shown an error is part of it. */
function asStream(expected: Fields, { fixture, turn }: Playing): Fields {
  const config = fieldsOf(fixture.config)
  const wasStreamed = turn.stream ?? config.stream ?? false
  const isJson = config.entity !== undefined || config.structuredOutput !== undefined
  if (wasStreamed === true || isJson) return expected
  const shown = preamblesOf(listOf(turn.modelScript).map(fieldsOf), Number(expected.requests_count))
  if (shown === '') return expected
  if (isFields(expected.error)) return { ...expected, error: { ...expected.error, in_stream: true, status: 200 } }
  return typeof expected.content === 'string' ? { ...expected, content: joined(shown, expected.content) } : expected
}

/** The texts of the rounds that called tools, as W12 joins them. */
function preamblesOf(script: readonly Fields[], requests: number): string {
  let text = ''
  for (const entry of script.slice(0, Number.isNaN(requests) ? script.length : requests)) {
    const message = fieldsOf(fieldsOf(listOf(fieldsOf(completionOf(entry)).choices)[0]).message)
    if (listOf(message.tool_calls).length > 0) text = joined(text, stringOf(message.content) ?? '')
  }
  return text
}

function joined(before: string, after: string): string {
  if (before === '' || after === '') return before + after
  return /\s$/.test(before) || /^\s/.test(after) ? before + after : `${before}\n\n${after}`
}
