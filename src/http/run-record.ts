import type { Usage } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import { addUsage } from '../core/usage.ts'
import type { RoundRecord } from './run-round.ts'

type Told<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>

/**
 * What a turn did, folded from its events as they are told: what the run view, the header figures and the `loopgate`
 * object are made of. Holds no prompt, argument or result, but for the values of augmentation fields.
 */
export class RunRecord {
  readonly rounds = new Map<number, RoundRecord>()
  readonly notes: string[] = []
  readonly revealed: string[] = []
  /** Of all model calls, also those that failed. */
  usage: Usage | undefined
  /** What they cost, in micro-dollars; absent where no prices are configured. */
  costMicros: number | undefined
  /** Some of it was not reported but reckoned. */
  isEstimated = false
  /** The answer does not keep the format that the request wants. */
  isOutputInvalid = false
  /** Upstream requests. */
  attempts = 0
  /** Calls that ran, searches included. */
  toolCalls = 0
  /** Where the last upstream request went. */
  target: { readonly provider: string; readonly model: string } | undefined
  readonly #startedAt = performance.now()
  readonly #waits: (readonly [from: number, to: number])[] = []
  #firstOutputAt: number | undefined

  tell(event: TurnEvent): void {
    switch (event.type) {
      case 'round.start':
        this.#round(event.round).offered = event.offered
        break
      case 'attempt':
        this.#attempt(event)
        break
      case 'usage':
        this.#used(event)
        break
      case 'round.end':
        this.#round(event.round).finish = event.finish
        break
      case 'tool.end':
        this.#toolEnd(event)
        break
      case 'advisor':
        this.#waited(event.durationMs)
        break
      case 'tool.open':
        this.#round(event.round).calls.push({ ...event, status: 'open', attempts: 0, durationMs: 0 })
        break
      case 'revealed':
        for (const name of event.names) if (!this.revealed.includes(name)) this.revealed.push(name)
        break
      case 'output.invalid':
        this.isOutputInvalid = true
        break
      case 'note':
        if (!this.notes.includes(event.note)) this.notes.push(event.note)
    }
  }

  /** To be called when the first visible piece goes out. */
  firstOutput(): void {
    this.#firstOutputAt ??= performance.now()
  }

  get firstOutputMs(): number | undefined {
    return this.#firstOutputAt === undefined ? undefined : this.#firstOutputAt - this.#startedAt
  }

  get durationMs(): number {
    return performance.now() - this.#startedAt
  }

  /** Model calls; those outside the loop (round 0) do not count. */
  get roundCount(): number {
    return this.rounds.size - (this.rounds.has(0) ? 1 : 0)
  }

  /** Time in which the turn waited for an upstream, a tool or a remote advisor; what ran side by side counts once. */
  get waitedMs(): number {
    let waited = 0
    let until = Number.NEGATIVE_INFINITY
    const waits = this.#waits.length > 1 ? this.#waits.sort(([a], [b]) => a - b) : this.#waits
    for (const [from, to] of waits) {
      if (to <= until) continue
      waited += to - Math.max(from, until)
      until = to
    }
    return waited
  }

  #round(n: number): RoundRecord {
    const known = this.rounds.get(n)
    if (known) return known
    const round: RoundRecord = { n, offered: [], attempts: [], calls: [] }
    this.rounds.set(n, round)
    return round
  }

  #attempt(event: Told<'attempt'>): void {
    const { provider, model, durationMs } = event
    this.attempts++
    const target = { provider, model }
    // A model that is asked outside the loop, a judge for example, is not the one that answered.
    if (event.round > 0 || this.roundCount === 0) this.target = target
    this.#waited(durationMs)
    const round = this.#round(event.round)
    round.target = target
    round.attempts.push(event)
  }

  #used({ round: n, usage, estimated, cost }: Told<'usage'>): void {
    const round = this.#round(n)
    round.usage = addUsage(round.usage, usage)
    round.isEstimated ||= estimated
    this.usage = addUsage(this.usage, usage)
    this.isEstimated ||= estimated
    if (cost) this.costMicros = (this.costMicros ?? 0) + cost.micros
  }

  #toolEnd(event: Told<'tool.end'>): void {
    this.#round(event.round).calls.push(event)
    this.#waited(event.durationMs)
    if (event.status === 'ok' || event.status === 'error' || event.status === 'unknown') this.toolCalls++
  }

  #waited(durationMs: number): void {
    const now = performance.now()
    this.#waits.push([now - durationMs, now])
  }
}
