import type { Finish, ToolCall, Usage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { Limits, Policy } from '../core/policy.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import type { Random } from './random.ts'

/** What the scripted model does at one call. */
export interface Entry {
  /** Words `w<n> `, each number once in a script and rising, so that a lost, doubled or swapped word shows. */
  readonly pieces: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly finish: Finish
  readonly usage: Usage | undefined
  /** Thrown in place of an answer; `late`: after the pieces were sent. */
  readonly error?: GatewayError
  readonly late?: boolean
}

/** A whole chain of events: what the model says, and when the client leaves. */
export interface Script {
  readonly entries: readonly Entry[]
  /** The client leaves at this event (a model call, a tool or a piece), counted from 0. Absent: it stays. */
  readonly leavesAt?: number
  readonly policy: Pick<Policy, 'memory' | 'structuredOutput' | 'toolSearch' | 'toolExecution'>
  /** Has the client named its session? */
  readonly isNamed: boolean
  readonly limits: Pick<Limits, 'onLimit' | 'limitCheck' | 'maxRounds'>
  /** Has the gateway tools of its own to offer? */
  readonly hasTools: boolean
  /** The tools whose results are to be the answer. */
  readonly direct: readonly string[]
  /** Does the request want JSON? */
  readonly wantsJson: boolean
  /** Turns that the session had before. */
  readonly past: readonly StoredTurn[]
  /** Is a summary recalled in their place? */
  readonly isSummarised: boolean
}

export const TOOLS = ['stock_level', 'print_label', 'broken_tool'] as const
export const CLIENT_TOOL = 'open_page'
export const SEARCH_TOOL = 'toolSearchTool'
/** Offered only where an advisor adds it. */
export const LATE_TOOL = 'late_tool'

/** A random script: a few rounds with calls, then an answer, a client's call, a cut, or a failure. */
export function randomScript(random: Random): Script {
  let word = 0
  let call = 0
  const pieces = () => Array.from({ length: random.below(4) }, () => `w${++word} `)
  const makeCall = (name: string): ToolCall => ({
    id: random.oneIn(10) ? 'call_same' : `call_${++call}`,
    name,
    arguments: random.oneIn(8) ? '{broken' : argumentsOf(name, call)
  })
  const usage = () => (random.oneIn(4) ? undefined : randomUsage(random))
  const round = (): Entry => ({
    pieces: pieces(),
    calls: Array.from({ length: 1 + random.below(3) }, () =>
      makeCall(random.pick([...TOOLS, SEARCH_TOOL, LATE_TOOL, 'no_such_tool']))
    ),
    finish: 'stop',
    usage: usage()
  })
  const hiccup = (): Entry => ({ ...round(), error: new GatewayError('upstream_overloaded', 'Try again.') })
  const entries: Entry[] = []
  for (let rounds = random.below(4); rounds > 0; rounds--) {
    if (random.oneIn(5)) entries.push(hiccup())
    entries.push(round())
  }
  entries.push(lastEntry(random, round(), pieces(), makeCall(CLIENT_TOOL), usage()))
  return {
    entries,
    ...(random.oneIn(4) && { leavesAt: random.below(14) }),
    policy: randomPolicy(random),
    limits: randomLimits(random),
    hasTools: !random.oneIn(6),
    direct: random.oneIn(3) ? TOOLS.filter(() => !random.oneIn(3)) : [],
    wantsJson: random.oneIn(2),
    past: randomPast(random),
    isSummarised: random.oneIn(3),
    isNamed: !random.oneIn(4)
  }
}

function argumentsOf(name: string, call: number): string {
  return name === SEARCH_TOOL ? `{"query":"${call % 2 ? 'stock' : 'print tool'}"}` : `{"n":${call}}`
}

function randomPolicy(random: Random): Script['policy'] {
  return {
    memory: { mode: random.pick(['on', 'off']), recall: random.pick(['answers', 'all']), window: {} },
    structuredOutput: { maxRetries: random.below(3), onExhausted: random.pick(['return', 'fail']) },
    toolSearch: { mode: random.pick(['on', 'off']), accumulate: random.oneIn(2) },
    toolExecution: random.oneIn(6) ? 'manual' : 'auto'
  }
}

function randomLimits(random: Random): Script['limits'] {
  return {
    onLimit: random.pick(['stop', 'tell_model', 'force_answer']),
    limitCheck: random.pick(['call', 'batch']),
    maxRounds: random.oneIn(4) ? 1 + random.below(3) : 20
  }
}

/** A turn with a call, under ids that the turn to come may use again. */
function randomPast(random: Random): readonly StoredTurn[] {
  if (random.oneIn(3)) return []
  const call = { id: random.oneIn(2) ? 'call_same' : 'call_past', name: TOOLS[0], arguments: '{}' }
  const answerId = random.oneIn(4) ? 'answer_1' : 'past_answer'
  return [
    {
      id: 'turn_01HYYYYYYYYYYYYYYYYYYYYYYY',
      status: 'completed',
      answerId,
      createdAt: 0,
      messages: [
        { role: 'user', id: 'past_question', content: 'And before?' },
        { role: 'assistant', id: 'past_call', content: '', calls: [call] },
        { role: 'tool', id: 'past_result', callId: call.id, content: '16' },
        { role: 'assistant', id: answerId, content: 'Sixteen.', calls: [] }
      ]
    }
  ]
}

function lastEntry(random: Random, round: Entry, pieces: string[], call: ToolCall, usage: Usage | undefined): Entry {
  const last: Entry = { pieces, calls: [], finish: 'stop', usage }
  switch (random.below(8)) {
    case 0:
      return { ...last, calls: [call] }
    case 1:
      return { ...round, finish: random.pick(['length', 'content_filter']) }
    case 2:
      return { ...last, error: new GatewayError('upstream_rejected', 'No.'), late: random.oneIn(2) }
    case 3:
      return { ...round, calls: [...round.calls, call] }
    default:
      return last
  }
}

function randomUsage(random: Random): Usage {
  const prompt = 1 + random.below(100)
  const completion = random.below(50)
  return {
    prompt,
    completion,
    total: prompt + completion + (random.oneIn(5) ? 3 : 0),
    ...(random.oneIn(2) && { cached: random.below(prompt) }),
    ...(random.oneIn(3) && { cacheWrite: random.below(10) }),
    ...(random.oneIn(3) && { reasoning: random.below(completion + 1) })
  }
}
