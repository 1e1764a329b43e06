import { canonicalArguments } from '../../core/arguments.ts'
import type { LimitHit, Message, Tool, ToolCall } from '../../core/chat.ts'
import { callsOfTurn, lastAnswer } from '../../core/conversation.ts'
import { matchesGlob } from '../../core/glob.ts'
import { ownValue } from '../../core/own-value.ts'
import type { Limits } from '../../core/policy.ts'
import type { Breach, Guard, Turn } from '../../core/turn.ts'

/** A call that does not run; without a breach of its own it goes the way of one beside it. */
interface Refusal {
  readonly text: string
  readonly breach?: Breach
}

/** One batch is judged once, by the ids of its calls: they share the array of messages. */
const judged = new WeakMap<readonly Message[], ReadonlyMap<string, Refusal>>()

/**
 * Refuses calls beyond the limits of a turn (contract §4.3). Counted from the turn's own messages, so that refused
 * calls count and a turn that stretches over several requests is one. A breach says what becomes of the turn; where
 * that is `stop`, the calls after it in the batch do not run.
 */
export const limits: Guard = {
  name: 'limits',
  async guard(call, turn, next) {
    const refusal = refusalsIn(turn).get(call.id)
    if (refusal === undefined) return next(call, turn)
    const { text, breach } = refusal
    return { content: text, status: 'refused', code: 'tool_limit', ...(breach && { breach }) }
  }
}

function refusalsIn(turn: Turn): ReadonlyMap<string, Refusal> {
  const known = judged.get(turn.prompt.messages)
  if (known) return known
  const refusals = judge(turn)
  judged.set(turn.prompt.messages, refusals)
  return refusals
}

function judge(turn: Turn): ReadonlyMap<string, Refusal> {
  const calls = callsOfTurn(turn)
  const batch = lastAnswer(turn.prompt.messages)?.calls ?? []
  const counts = new Counts(turn.prompt.tools)
  for (const call of calls.slice(0, calls.length - batch.length)) counts.add(call)
  const refusals = new Map<string, Refusal>()
  let stopped: Refusal | undefined
  for (const call of batch) {
    counts.add(call)
    // What the client runs counts, but is not the gateway's to refuse.
    if (turn.prompt.tools.get(call.name)?.kind === 'client') continue
    const refusal = stopped ?? refusalOf(call, counts, turn)
    if (refusal === undefined) continue
    refusals.set(call.id, refusal)
    if (refusal.breach?.action === 'stop') stopped = { text: refusal.text }
  }
  const [first] = refusals.values()
  if (first === undefined || turn.policy.limits.limitCheck === 'call') return refusals
  return new Map(batch.map(({ id }) => [id, refusals.get(id) ?? { text: first.text }]))
}

class Counts {
  all = 0
  readonly ofTool = new Map<string, number>()
  readonly #identical = new Map<string, number>()
  readonly #tools: ReadonlyMap<string, Tool>

  constructor(tools: ReadonlyMap<string, Tool>) {
    this.#tools = tools
  }

  add(call: ToolCall): void {
    this.all++
    this.ofTool.set(call.name, (this.ofTool.get(call.name) ?? 0) + 1)
    const same = this.#sameness(call)
    this.#identical.set(same, (this.#identical.get(same) ?? 0) + 1)
  }

  same(call: ToolCall): number {
    return this.#identical.get(this.#sameness(call)) ?? 0
  }

  /** Calls with the same arguments have the same; a thought of their own makes no difference. */
  #sameness({ name, arguments: text }: ToolCall): string {
    return `${name} ${canonicalArguments(text, this.#tools.get(name)?.augment?.fields)}`
  }
}

/** Does the call that was counted last go too far? */
function refusalOf(call: ToolCall, counts: Counts, turn: Turn): (Refusal & { readonly breach: Breach }) | undefined {
  const { limits } = turn.policy
  const { onLimit } = limits
  const perTool = matchesGlob(call.name, limits.exemptTools) ? -1 : maxOfTool(call.name, limits, turn)
  const identical =
    perTool === -1 ? -1 : (turn.prompt.tools.get(call.name)?.maxIdenticalCalls ?? limits.maxIdenticalCalls)
  const same = counts.same(call)
  // A model that was told so and repeats the call once more will do it for ever (contract §18, 4.3).
  const insists = onLimit !== 'stop' && identical !== -1 && same > identical + 1

  if (!insists && beyond(counts.ofTool.get(call.name) ?? 0, perTool)) {
    const text = `Limit reached: ${call.name} may be called at most ${perTool} times in one turn.`
    return { text, breach: { hit: { kind: 'max_calls_per_tool', tool: call.name, max: perTool }, action: onLimit } }
  }
  if (!insists && beyond(counts.all, limits.maxCalls)) {
    const text = `Limit reached: at most ${limits.maxCalls} tool calls in one turn.`
    return { text, breach: { hit: { kind: 'max_calls', max: limits.maxCalls }, action: onLimit } }
  }
  if (!beyond(same, identical)) return undefined
  const text = `Limit reached: ${call.name} was called with these arguments ${identical} times in this turn.`
  const hit: LimitHit = { kind: 'max_identical_calls', tool: call.name, max: identical }
  return { text, breach: { hit, action: insists ? 'stop' : onLimit } }
}

function maxOfTool(name: string, limits: Limits, turn: Turn): number {
  return ownValue(limits.perTool, name) ?? turn.prompt.tools.get(name)?.maxCallsPerTurn ?? limits.maxCallsPerTool
}

function beyond(count: number, max: number): boolean {
  return max !== -1 && count > max
}
