import { fieldsOf, isFields, listOf } from '../fields.ts'
import { parsed, sameValue, shown } from '../same-value.ts'
import { answerOf, type ReadAnswer } from './answer.ts'
import { shapeOf } from './anthropic.ts'
import { answersOf, type WireCase } from './case.ts'
import { judgeError } from './judge-error.ts'
import { judgeUpstream } from './judge-upstream.ts'
import type { WireObservation } from './observation.ts'
import { brokenRule, type Evidence } from './rules.ts'

interface Seen {
  readonly one: WireCase
  readonly answer: ReadAnswer
  readonly observation: WireObservation
}

/** Says what differs, nothing when it is as expected. */
type Judge = (expected: unknown, seen: Seen) => string | readonly string[] | undefined

/** What differs from `expect`, each with the name of its field (the README of the cases says what they mean). */
export function judgeWire(one: WireCase, observation: WireObservation): readonly string[] {
  const seen = { one, observation, answer: answerOf(observation.client, one.clientRequest.path) }
  const { client } = observation
  const broken = client.broken === undefined ? [] : [`the answer broke off: ${client.broken}`]
  const differing = Object.entries(one.expect).flatMap(([field, expected]) => {
    if (field === 'statement') return []
    const judge = JUDGES[field]
    const why = judge ? judge(expected, seen) : 'the runner does not know this field'
    return [why ?? []].flat().map(text => `${field}: ${text}`)
  })
  return [...broken, ...differing]
}

const JUDGES: Readonly<Record<string, Judge>> = {
  clientStatus: (expected, { observation: { client } }) => same(expected, client.status),
  clientHeaders: (expected, { observation: { client } }) =>
    Object.entries(fieldsOf(expected)).flatMap(([name, value]) => {
      const why = same(value, client.headers[name.toLowerCase()])
      return why === undefined ? [] : `${name} ${why}`
    }),
  contentType: (expected, { observation: { client } }) =>
    same(expected, client.headers['content-type']?.split(';')[0]?.trim()),
  text: (expected, { answer }) => same(expected, answer.text),
  textParts: (expected, { answer }) =>
    isInOrder(answer.text, listOf(expected).map(String)) ? undefined : differs(expected, answer.text),
  textExcludes: (expected, { answer }) => excludes(expected, answer.text),
  clientExcludes: (expected, { observation: { client } }) => excludes(expected, client.text),
  reasoningText: (expected, { answer }) => same(expected, answer.reasoning),
  refusalText: (expected, { answer }) => same(expected, answer.refusal),
  logprobsTokens: (expected, { answer }) => same(expected, answer.logprobTokens),
  finishReason: (expected, { answer }) => same(expected, answer.finish),
  toolCallsExecuted: (expected, { observation: { webhooks } }) =>
    same(
      expected,
      webhooks.map(call => ({ name: call.tool, arguments: call.arguments }))
    ),
  toolCallsToClient: (expected, { answer }) =>
    same(
      expected,
      answer.calls.map(call => ({ name: call.name, arguments: parsed(call.arguments)?.value ?? call.arguments }))
    ),
  upstreamRequests: (expected, { observation: { upstream } }) => same(expected, upstream.length),
  upstreamRequest: (expected, { observation: { upstream } }) =>
    (isFields(expected) ? [expected] : listOf(expected).map(fieldsOf)).flatMap(check => judgeUpstream(check, upstream)),
  usage: (expected, { answer }) => holds(expected, answer.usage, sameValue),
  usageMin: (expected, { answer }) => holds(expected, answer.usage, (least, value) => Number(value) >= Number(least)),
  auditUsage: (expected, { observation: { run } }) => auditUsage(expected, run?.usage),
  auditStatus: (expected, { observation: { run } }) => same(expected, run?.http_status),
  clientSeesUsageChunk: (expected, { answer }) => same(expected, answer.usage !== undefined),
  sendsDone: (expected, { answer }) => same(expected, answer.isDone),
  error: (expected, { answer, observation }) => judgeError(fieldsOf(expected), answer, observation.client),
  wireRules: rules,
  wireRulesExtra: rules,
  upstreamAborted: (expected, { observation: { upstream } }) =>
    same(
      expected,
      upstream.some(({ abortedMs }) => abortedMs !== undefined)
    ),
  upstreamAbortedWithinMs: (expected, { observation: { upstream, client } }) =>
    within(expected, since(client.endMs, upstream.findLast(({ abortedMs }) => abortedMs !== undefined)?.abortedMs)),
  webhookAborted: (expected, { observation: { webhooks } }) =>
    same(
      expected,
      webhooks.some(({ abortedMs }) => abortedMs !== undefined)
    ),
  handlerSettlesWithinMs: (expected, { observation: { client, settledMs } }) =>
    within(expected, since(client.endMs, settledMs)),
  // A gauge that is not there would pass every bound: nothing at all was held then, which no slow client can bring about.
  maxBufferedBytes: (expected, { observation: { bufferedBytesPeak: bytes = 0 } }) =>
    bytes > 0 ? within(expected, bytes) : 'the gateway says that it held nothing',
  firstByteWithinMs: (expected, { observation: { client } }) => within(expected, client.headMs),
  maxWallMs: (expected, { observation: { client } }) => within(expected, client.endMs),
  processAlive: (expected, { observation: { alive } }) => same(expected, alive),
  keepaliveComments: (expected, { answer: { frames } }) => {
    const count = frames.filter(({ isComment }) => isComment).length
    const { min = 0, max = Number.POSITIVE_INFINITY } = fieldsOf(expected)
    if (!isFields(expected)) return same(expected, count)
    return count >= Number(min) && count <= Number(max) ? undefined : differs(expected, count)
  },
  anthropic: (expected, { answer: { documents } }) => holds(expected, shapeOf(documents), sameValue)
}

function rules(expected: unknown, { one, answer, observation }: Seen): readonly string[] {
  const retryAfter = answersOf(one).at(-1)?.headers['retry-after']
  const evidence: Evidence = {
    request: one.clientRequest.body,
    path: one.clientRequest.path,
    answer,
    observation,
    gatewayTools: (one.gatewayTools ?? []).map(({ name }) => name),
    ...(retryAfter !== undefined && { retryAfter })
  }
  return listOf(expected).flatMap(name => brokenRule(String(name), evidence) ?? [])
}

function auditUsage(expected: unknown, usage: unknown): string | undefined {
  if (isFields(expected)) return holds(expected, usage, sameValue)
  if (expected !== 'estimated-or-unknown') return `the runner does not know ${shown(expected)}`
  if (usage === undefined || usage === null) return undefined
  return fieldsOf(usage).estimated === true ? undefined : differs(expected, usage)
}

/** Every expected field, dots leading into objects, compared with what stands there. */
function holds(expected: unknown, actual: unknown, fits: (a: unknown, b: unknown) => boolean): string | undefined {
  const wrong = Object.entries(fieldsOf(expected)).find(([path, value]) => {
    const found = path.split('.').reduce<unknown>((inner, key) => fieldsOf(inner)[key], actual)
    return found === undefined || !fits(value, found)
  })
  return wrong && differs(expected, actual)
}

function since(fromMs: number, toMs: number | undefined): number | undefined {
  return toMs === undefined ? undefined : Math.max(0, toMs - fromMs)
}

function within(most: unknown, actual: number | undefined): string | undefined {
  if (actual === undefined) return 'it did not happen'
  return typeof most === 'number' && actual <= most ? undefined : `${actual} where at most ${shown(most)} was expected`
}

/** Nothing but white space between, before and after the parts. */
function isInOrder(text: string, parts: readonly string[]): boolean {
  let rest = text
  for (const part of parts) {
    rest = rest.trimStart()
    if (!rest.startsWith(part.trim())) return false
    rest = rest.slice(part.trim().length)
  }
  return rest.trim() === ''
}

function excludes(expected: unknown, text: string): string | undefined {
  const found = [expected].flat().find(one => text.includes(String(one)))
  return found === undefined ? undefined : `${shown(found)} stands in ${shown(text)}`
}

function same(expected: unknown, actual: unknown): string | undefined {
  return sameValue(expected, actual) ? undefined : differs(expected, actual)
}

function differs(expected: unknown, actual: unknown): string {
  return `${shown(actual)} where ${shown(expected)} was expected`
}
