import { type Fields, fieldsOf, isFields, listOf, stringOf } from '../fields.ts'
import { parsed, sameText, sameValue, shown } from '../same-value.ts'
import { type Equality, messagesDiffer, plainCall } from './messages-fit.ts'
import type { LoopObservation, ReplySaw, TurnSaw } from './observation.ts'
import type { ReadCase } from './read.ts'
import { completionOf } from './recast.ts'
import { schemaOf } from './request.ts'
import { requestsDiffer, toolsDiffer } from './requests-differ.ts'
import { contentText, textFits } from './text-fits.ts'

interface Seen {
  readonly one: ReadCase
  readonly turn: TurnSaw
  readonly reply: ReplySaw
  readonly equality: Equality
}

/** Says what differs, nothing when it is as expected. */
type Judge = (expected: unknown, seen: Seen) => string | undefined

/** What differs from what the case demands, each with the turn and the name of its field. */
export function judgeLoop(one: ReadCase, observation: LoopObservation): readonly string[] {
  const { expected } = one
  if (expected.start) return startDiffers(expected.start, observation)
  if (observation.start !== 'ok') return [`the start was refused: ${observation.output?.trim()}`]
  const equality = { givenIds: givenIds(one), schema: schemaOf(one.config) }
  return expected.turns.flatMap((fields, at) => {
    const turn = observation.turns[at]
    const reply = turn?.replies.at(-1)
    if (!turn || !reply) return [`turn ${at + 1} was not played`]
    return judgeFields(fields, { one, turn, reply, equality }).map(why => `turn ${at + 1}, ${why}`)
  })
}

function judgeFields(fields: Fields, seen: Seen): readonly string[] {
  const unexpected =
    seen.reply.error !== undefined && !('error' in fields) ? [`an error: ${shown(seen.reply.error)}`] : []
  const differing = Object.entries(fields).flatMap(([field, expected]) => {
    const judge = JUDGES[field]
    const why = judge ? judge(expected, seen) : 'the runner does not know this field'
    return why === undefined ? [] : [`${field}: ${why}`]
  })
  return [...unexpected, ...differing]
}

function startDiffers(expected: Fields, { start, exit, requestsCount }: LoopObservation): readonly string[] {
  const actual: Fields = { start, exit, requests_count: requestsCount }
  return Object.entries(expected).flatMap(([field, value]) => {
    const why = same(value, actual[field])
    return why === undefined ? [] : `${field}: ${why}`
  })
}

const JUDGES: Readonly<Record<string, Judge>> = {
  status: (expected, { reply }) => same(expected, reply.status),
  requests_count: (expected, { turn }) => same(expected, turn.requests.length),
  requests: (expected, { one, turn, equality }) => requestsDiffer(expected, turn.requests, one.isOrderOpen, equality),
  tools_per_request: (expected, { turn: { requests } }) => {
    if (!Array.isArray(expected) || expected.length !== requests.length) return differs(expected, requests.length)
    const at = expected.findIndex((tools, n) => toolsDiffer(tools, requests[n]?.tools ?? [], false))
    return at === -1 ? undefined : `request ${at + 1}: ${toolsDiffer(expected[at], requests[at]?.tools ?? [], false)}`
  },
  executed_count: (expected, { turn }) => same(expected, turn.executed.length),
  executed: (expected, { turn }) => same(expected, turn.executed),
  content: (expected, { reply, equality }) =>
    textFits(expected, reply.content, equality.schema) ? undefined : differs(expected, reply.content),
  content_json: (expected, { reply }) => same(expected, parsed(unfenced(reply.content))?.value),
  content_only_valid_json: (expected, { reply }) => same(expected, parsed(reply.content) !== undefined),
  pieces: (expected, { reply, equality }) => {
    const pieces = listOf(expected)
    const fit = pieces.length === reply.pieces.length
    const all = fit && pieces.every((piece, at) => textFits(piece, reply.pieces[at] ?? '', equality.schema))
    return all ? undefined : differs(expected, reply.pieces)
  },
  finish_reason: (expected, { reply }) => same(expected, reply.finish),
  tool_calls: (expected, { reply, equality }) => callsDiffer(expected, reply, equality),
  loopgate: (expected, { reply, equality }) => reportDiffers(fieldsOf(expected), reply.loopgate ?? {}, equality),
  usage: (expected, { reply }) => {
    if (expected === null) return reply.usage === undefined ? undefined : differs('no usage', reply.usage)
    return figuresDiffer(fieldsOf(expected), flat(reply.usage))
  },
  audit_usage: (expected, { turn }) => figuresDiffer(fieldsOf(expected), fieldsOf(turn.run?.usage)),
  audit_status: (expected, { turn }) => same(expected, turn.run?.http_status),
  error: (expected, { reply }) => errorDiffers(fieldsOf(expected), reply),
  rounds: (expected, seen) => {
    const rounds = listOf(expected).map(fieldsOf)
    const { replies } = seen.turn
    if (rounds.length !== replies.length) return `${replies.length} answers where ${rounds.length} were expected`
    const found = rounds.flatMap((round, at) => {
      const reply = replies[at]
      return reply ? judgeFields(round, { ...seen, reply }).map(why => `answer ${at + 1}, ${why}`) : []
    })
    return found.length === 0 ? undefined : found.join('; ')
  },
  memory: (expected, { turn, equality }) =>
    turn.memory ? messagesDiffer(expected, turn.memory, equality) : 'no session was named',
  index: (expected, { turn }) => figuresDiffer(fieldsOf(expected), turn.index),
  augmented: (expected, { turn }) => {
    const calls = listOf(turn.run?.rounds).flatMap(round => listOf(fieldsOf(round).calls).map(fieldsOf))
    const values = calls.filter(({ augmented }) => isFields(augmented))
    return same(
      expected,
      values.map(({ tool, augmented }) => ({ tool, values: augmented }))
    )
  },
  cancelled: (expected, { turn }) => same(expected, turn.run?.status === 'cancelled'),
  search_tool_has_no: (expected, { turn }) => {
    const tools = turn.requests.flatMap(request => request.tools).filter(({ name }) => name === 'toolSearchTool')
    const found = listOf(expected).find(name => tools.some(({ properties }) => properties.includes(String(name))))
    if (tools.length === 0) return 'the search tool was not offered'
    return found === undefined ? undefined : `it has the parameter ${String(found)}`
  }
}

/** Ids in the script, in the history and in the turns before: they keep their spelling. */
function givenIds({ turns }: ReadCase): ReadonlySet<string> {
  const calls = turns.flatMap(({ modelScript, history = [] }) => {
    const choices = modelScript.flatMap(entry => listOf(completionOf(entry).choices).map(fieldsOf))
    return [...choices.map(({ message }) => fieldsOf(message)), ...history].flatMap(({ tool_calls }) =>
      listOf(tool_calls)
    )
  })
  return new Set(calls.map(call => plainCall(fieldsOf(call)).id))
}

/** Every expected figure; others may be there too. An absent one is 0. */
function figuresDiffer(expected: Fields, actual: Fields): string | undefined {
  const wrong = Object.entries(expected).some(([name, count]) => (actual[name] ?? 0) !== count)
  return wrong ? differs(expected, actual) : undefined
}

/** Usage of an answer with its details beside the totals, as the expectations spell it. */
function flat(usage: Fields | undefined): Fields {
  const { prompt_tokens_details, completion_tokens_details, ...totals } = usage ?? {}
  return { ...fieldsOf(prompt_tokens_details), ...fieldsOf(completion_tokens_details), ...totals }
}

function errorDiffers(expected: Fields, { error, status, isStream, shouldRetry }: ReplySaw): string | undefined {
  if (error === undefined) return 'there is none'
  const actual: Fields = { status, code: error.code, in_stream: isStream, x_should_retry: shouldRetry }
  const wrong = Object.entries(expected).some(([field, value]) => !sameValue(value, actual[field]))
  return wrong ? differs(expected, { ...actual, message: error.message }) : undefined
}

function callsDiffer(expected: unknown, { calls }: ReplySaw, { givenIds }: Equality): string | undefined {
  const wanted = listOf(expected).map(fieldsOf).map(plainCall)
  const fit = wanted.every(({ id, name, arguments: text }, at) => {
    const call = calls[at]
    if (!call || call.name !== name || !sameText(text, call.arguments)) return false
    // Ids are minted where state must be found again without a session.
    return call.id === id || !givenIds.has(call.id)
  })
  return fit && wanted.length === calls.length ? undefined : differs(wanted, calls)
}

/** Subset: lists have the same length, `null` and an empty list are the same as nothing. */
function reportDiffers(expected: unknown, actual: unknown, equality: Equality): string | undefined {
  return within(expected, actual, equality) ? undefined : differs(expected, actual)
}

function within(expected: unknown, actual: unknown, equality: Equality): boolean {
  if (Array.isArray(expected)) {
    const list = listOf(actual)
    return list.length === expected.length && expected.every((one, at) => within(one, list[at], equality))
  }
  if (isFields(expected)) {
    const fields = fieldsOf(actual)
    return Object.entries(expected).every(([key, value]) => {
      if (key === 'content') return textFits(value, contentText(fields.content), equality.schema)
      if (key === 'id' && !equality.givenIds.has(stringOf(fields.id) ?? '')) return true
      return within(value, fields[key], equality)
    })
  }
  return expected === null ? actual === null || actual === undefined : sameValue(expected, actual)
}

function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*(.*?)\s*```\s*$/s.exec(text)?.[1] ?? text
}

function same(expected: unknown, actual: unknown): string | undefined {
  return sameValue(expected, actual) ? undefined : differs(expected, actual)
}

function differs(expected: unknown, actual: unknown): string {
  return `${shown(actual)} where ${shown(expected)} was expected`
}
