import { canonicalArguments } from '../../core/arguments.ts'
import type { LimitHit, Message, ToolCall } from '../../core/chat.ts'
import { callsOfTurn, lastAnswer } from '../../core/conversation.ts'
import { matchesGlob } from '../../core/glob.ts'
import { ownValue } from '../../core/own-value.ts'
import type { Limits } from '../../core/policy.ts'
import type { Guard, Turn } from '../../core/turn.ts'

interface Breach {
  readonly hit: LimitHit
  readonly text: string
}

/** What is to happen to the calls of one batch, by their position. */
interface Verdict {
  /** Position of the first call that goes too far. */
  readonly at: number
  readonly breach: Breach
  /** Under `limit_check: batch` not even the calls before it run. */
  readonly none: boolean
}

/** One batch is judged once: its calls share the array of messages. */
const verdicts = new WeakMap<readonly Message[], Verdict | 'within'>()

/**
 * Refuses calls beyond the limits of a turn (contract §4.3). Counted from the turn's own messages, so that refused
 * calls count and a turn that stretches over several requests is one. Under `on_limit: stop` the first breach ends
 * the turn, and the calls after it in the batch do not run.
 */
export const limits: Guard = {
  name: 'limits',
  async guard(call, turn, next) {
    const verdict = verdictOf(turn)
    if (verdict === 'within') return next(call, turn)
    const index = lastAnswer(turn.prompt.messages)?.calls.findIndex(({ id }) => id === call.id) ?? -1
    const { text, hit } = verdict.breach
    if (index === verdict.at) return { content: text, status: 'refused', code: 'tool_limit', ends: hit }
    if (index > verdict.at || verdict.none) return { content: text, status: 'refused', code: 'tool_limit' }
    return next(call, turn)
  }
}

function verdictOf(turn: Turn): Verdict | 'within' {
  const known = verdicts.get(turn.prompt.messages)
  if (known) return known
  const verdict = judge(turn)
  verdicts.set(turn.prompt.messages, verdict)
  return verdict
}

function judge(turn: Turn): Verdict | 'within' {
  const calls = callsOfTurn(turn)
  const batch = lastAnswer(turn.prompt.messages)?.calls.length ?? 0
  const counts = new Counts()
  for (const [nth, call] of calls.entries()) {
    counts.add(call)
    if (nth < calls.length - batch) continue
    const breach = breachOf(call, nth + 1, counts, turn)
    if (breach === undefined) continue
    return { at: nth - (calls.length - batch), breach, none: turn.policy.limits.limitCheck === 'batch' }
  }
  return 'within'
}

class Counts {
  readonly ofTool = new Map<string, number>()
  readonly identical = new Map<string, number>()

  add(call: ToolCall): void {
    this.ofTool.set(call.name, (this.ofTool.get(call.name) ?? 0) + 1)
    const same = sameness(call)
    this.identical.set(same, (this.identical.get(same) ?? 0) + 1)
  }
}

function sameness(call: ToolCall): string {
  return `${call.name} ${canonicalArguments(call.arguments)}`
}

function breachOf(call: ToolCall, nth: number, counts: Counts, turn: Turn): Breach | undefined {
  const { limits } = turn.policy
  const exempt = matchesGlob(call.name, limits.exemptTools)
  const perTool = exempt ? -1 : maxOfTool(call.name, limits, turn)
  if (beyond(counts.ofTool.get(call.name) ?? 0, perTool)) {
    return {
      hit: { kind: 'max_calls_per_tool', tool: call.name, max: perTool },
      text: `Limit reached: ${call.name} may be called at most ${perTool} times in one turn.`
    }
  }
  if (beyond(nth, limits.maxCalls)) {
    const max = limits.maxCalls
    return { hit: { kind: 'max_calls', max }, text: `Limit reached: at most ${max} tool calls in one turn.` }
  }
  const identical =
    perTool === -1 ? -1 : (turn.prompt.tools.get(call.name)?.maxIdenticalCalls ?? limits.maxIdenticalCalls)
  if (!beyond(counts.identical.get(sameness(call)) ?? 0, identical)) return undefined
  return {
    hit: { kind: 'max_identical_calls', tool: call.name, max: identical },
    text: `Limit reached: ${call.name} was called with these arguments ${identical} times in this turn.`
  }
}

function maxOfTool(name: string, limits: Limits, turn: Turn): number {
  return ownValue(limits.perTool, name) ?? turn.prompt.tools.get(name)?.maxCallsPerTurn ?? limits.maxCallsPerTool
}

function beyond(count: number, max: number): boolean {
  return max !== -1 && count > max
}
