/** Prometheus metrics. One set a gateway; nothing is kept in the package's global registry. */
import { Registry } from 'prom-client'
import type { TurnEvent } from '../core/events.ts'
import { children } from './children.ts'
import { KnownNames } from './known-names.ts'
import { series } from './series.ts'
import { turnEvents } from './turn-events.ts'

/** Model names that clients may add to the label by using them. */
const MAX_SEEN_MODELS = 200

export interface Metrics {
  /** `route` is the template, never the path. `status` 499 when the client left. */
  httpRequest(route: string, method: string, status: number, seconds: number): void
  /** One event of a turn, as told. */
  turnEvent(event: TurnEvent): void
  turnEnd(turn: EndedTurn): void
  egressBlocked(): void
  indexBuilt(): void
  /** Search indexes held now. */
  indexes(count: number): void
  /** Sessions that hold an index now. */
  views(count: number): void
  viewEvicted(reason: 'lru' | 'ttl' | 'api'): void
  /** Bytes held for one slow client now; the largest since start is kept. */
  streamBuffered(bytes: number): void
  storeError(op: string): void
  /** A call was sent, and what became of it is not known: the process ended, or was cut off. */
  callUnknown(): void
  /** A summary of a session was made: `completed`, `failed`, or `superseded` where another was first. */
  compaction(status: string): void
  /** Models of the configuration; others are labelled `unknown` until an upstream has answered to them. */
  modelNames(names: Iterable<string>): void
  /** The page for Prometheus. */
  render(): Promise<string>
  readonly contentType: string
}

export interface EndedTurn {
  readonly dialect: string
  /** The alias or target the model name resolved to. */
  readonly model: string
  /** Of contract §2.6. */
  readonly status: string
  /** Absent when the turn failed. */
  readonly finish?: string | undefined
  readonly stream: boolean
  readonly seconds: number
  readonly rounds: number
  /** Calls that ran, searches included. */
  readonly toolCalls: number
  /** The turn without its waits for upstreams and tools. */
  readonly overheadSeconds: number
  /** Absent when nothing visible came. */
  readonly firstOutputSeconds?: number | undefined
}

/** A fresh set of metrics, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const all = series(registry)
  const models = new KnownNames({ max: MAX_SEEN_MODELS })
  const bufferedPeak = all.bufferedPeak.labels()

  const http = children((route, method, status) => ({
    count: all.httpRequests.labels(route, method, status),
    seconds: all.httpSeconds.labels(route, method, status)
  }))
  const turn = children((...labels) => ({
    count: all.turns.labels(...labels),
    seconds: all.turnSeconds.labels(...labels),
    rounds: all.turnRounds.labels(...labels),
    toolCalls: all.turnToolCalls.labels(...labels)
  }))
  const edge = children((dialect, stream) => ({
    overhead: all.overhead.labels(dialect, stream),
    firstOutput: all.firstOutput.labels(dialect, stream)
  }))

  return {
    httpRequest(route, method, status, seconds) {
      const child = http(route, method, String(status))
      child.count.value++
      child.seconds.observe(seconds)
    },
    turnEvent: turnEvents(all, models),
    turnEnd(ended) {
      const child = turn(ended.dialect, models.label(ended.model), ended.status, ended.finish)
      child.count.value++
      child.seconds.observe(ended.seconds)
      child.rounds.observe(ended.rounds)
      child.toolCalls.observe(ended.toolCalls)
      const { overhead, firstOutput } = edge(ended.dialect, String(ended.stream))
      overhead.observe(Math.max(0, ended.overheadSeconds))
      if (ended.firstOutputSeconds !== undefined) firstOutput.observe(ended.firstOutputSeconds)
    },
    egressBlocked() {
      all.egressBlocked.labels().value++
    },
    indexBuilt() {
      all.indexBuilds.labels().value++
    },
    indexes(count) {
      all.indexes.labels().value = count
    },
    views(count) {
      all.views.labels().value = count
    },
    viewEvicted(reason) {
      all.viewEvictions.labels(reason).value++
    },
    streamBuffered(bytes) {
      if (bytes > bufferedPeak.value) bufferedPeak.value = bytes
    },
    storeError(op) {
      all.storeErrors.labels(op).value++
    },
    callUnknown() {
      all.callsUnknown.labels().value++
    },
    compaction(status) {
      all.compactions.labels(status).value++
    },
    modelNames: names => models.declare(names),
    render: () => registry.metrics(),
    contentType: registry.contentType
  }
}
