import type { Message, ToolMessage } from '../core/chat.ts'
import type { HeldCall } from '../core/held-calls.ts'
import type { TurnRow } from './contracts.ts'

/** What is written of a turn when its first call leaves. */
export interface JournalHead {
  readonly session: { readonly key: string; readonly id: string; readonly branch: string }
  /** Id of the stored answer that it went on from, when it is a turn that waited for its client. */
  readonly base?: string | undefined
  readonly startedAt: number
  /** The turn's messages from its question on, where memory is to keep it: should its process end, they are all there is. */
  readonly question?: readonly Message[] | undefined
  /** What a retry of its request is known by. */
  readonly retries: readonly RetryRow[]
}

/** A request that may come again (contract §4.12). */
export interface RetryRow {
  /** Hash over principal, route and key, or over principal, session and body. */
  readonly id: string
  /** Of the body without `stream` and `stream_options`. */
  readonly bodyHash: string
  readonly expiresAt: number
}

/** A request that came before. */
export interface KnownRequest {
  readonly turn: string
  readonly bodyHash: string
  /** What its client got, where the turn has gone on with another request since. Else the turn's outcome is its own. */
  readonly outcome?: string | undefined
}

export type JournalCall = Pick<
  HeldCall,
  'id' | 'round' | 'index' | 'callId' | 'tool' | 'toolVersion' | 'effect' | 'arguments'
>

/** A turn whose journal is being written, and the right to: who takes it over has a higher fence. */
export interface JournalRef {
  readonly turn: string
  readonly fence: number
}

export interface Begin {
  readonly ref: JournalRef
  readonly head: JournalHead
  /** Run view of the turn so far. */
  readonly run: TurnRow
}

export interface Dispatch extends Omit<Begin, 'head'> {
  /** The first time. */
  readonly head?: JournalHead | undefined
  /** What the loop has added since the last time. */
  readonly messages: readonly Message[]
  readonly call: JournalCall
}

/** A call has a result. */
export interface Settled {
  readonly ref: JournalRef
  readonly callId: string
  readonly messages: readonly Message[]
}

/**
 * `running`: by this process. `left`: its client or its process has gone, and it may be gone on with. The others: it is
 * over.
 */
export type JournalState = 'running' | 'left' | 'done' | 'failed'

export interface JournalEnd {
  readonly ref: JournalRef
  readonly state: Exclude<JournalState, 'running'>
  /** JSON text of what the client got. */
  readonly outcome?: string | undefined
}

export interface JournalTurn {
  readonly ref: JournalRef
  readonly state: JournalState
  readonly session: JournalHead['session']
  readonly base?: string | undefined
  readonly question?: readonly Message[] | undefined
  readonly startedAt: number
  /** In the order in which they came: results as they settled. Empty when it is over. */
  readonly messages: readonly Message[]
  readonly outcome?: string | undefined
  /** The client has had the whole answer. */
  readonly isDelivered: boolean
}

/** A call that was sent by a process that is no more, and that may not be sent again. */
export interface UnknownCall {
  readonly turn: string
  readonly callId: string
  readonly tool: string
}

/**
 * The journal of turns that run tools (spec/state.md §2, §3): a call is on disk as `dispatched` before it leaves. Every
 * write of a running turn rejects with `turn_cancelled` when somebody else has taken it over.
 */
export interface JournalStore {
  /** Of a turn that a retry is to find whether or not a call leaves. Durable when it resolves. */
  begin(entry: Begin): Promise<void>
  /** Durable when it resolves. All of one tick are one transaction. */
  dispatch(entry: Dispatch): Promise<void>
  settle(entry: Settled): Promise<void>
  /** Its messages go when it is over: the transcript has them. */
  end(entry: JournalEnd): Promise<void>
  get(turn: string): Promise<JournalTurn | undefined>
  /** What a request that comes again is known by, unless it is too old. */
  retry(id: string): Promise<KnownRequest | undefined>
  /**
   * `left` → `running` under a new fence. Calls that had left and may not be sent twice get the result that `unknown`
   * makes of them. Absent: somebody else has it, or it is over.
   */
  take(turn: string, unknown: (call: UnknownCall) => ToolMessage): Promise<JournalTurn | undefined>
  /** Turns of the session that were left; of all sessions those left before the time. Oldest first. */
  left(which: { readonly sessionKey: string } | { readonly before: number }): Promise<readonly JournalTurn[]>
  /** The client has the answer. Written behind. */
  delivered(turn: string): void
  /** Answers older than `textsBefore` and rows older than `before` go; resolves to how many turns. */
  sweep(times: { readonly textsBefore: number; readonly before: number }): Promise<number>
}
