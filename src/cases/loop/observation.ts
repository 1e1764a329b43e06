/** What was seen while a loop case was played: plain JSON data. */
import type { Fields } from '../fields.ts'

export interface LoopObservation {
  readonly start: 'ok' | 'refused'
  /** Exit code of a refused start. */
  readonly exit?: number
  /** What a gateway that refused to start had written. */
  readonly output?: string
  /** Requests that came to the model server in all. */
  readonly requestsCount: number
  readonly turns: readonly TurnSaw[]
}

export interface TurnSaw {
  /** Upstream requests, failed ones too. */
  readonly requests: readonly RequestSaw[]
  /** Calls the webhooks got, in the order of rounds and batches. */
  readonly executed: readonly { readonly name: string; readonly arguments: unknown }[]
  /** One answer a request of the client: several where the client runs the loop. */
  readonly replies: readonly ReplySaw[]
  /** The run view of the turn. */
  readonly run?: Fields
  /** What the next turn would recall; absent where no session was named. */
  readonly memory?: readonly Fields[]
  /** What the turn added to the counters of the search index. */
  readonly index: { readonly builds: number; readonly searches: number; readonly view_evictions: number }
}

export interface RequestSaw {
  readonly messages: readonly Fields[]
  readonly tools: readonly ToolSaw[]
  readonly toolChoice?: unknown
}

export interface ToolSaw {
  readonly name: string
  /** Names of the parameters. */
  readonly properties: readonly string[]
  readonly required: readonly string[]
}

export interface ReplySaw {
  readonly status: number
  readonly isStream: boolean
  readonly content: string
  /** Non-empty text pieces of a stream, in order. */
  readonly pieces: readonly string[]
  readonly finish?: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly usage?: Fields
  readonly loopgate?: Fields
  readonly error?: Fields
  readonly shouldRetry?: string
}
