/** What every store engine must do. `sqlite/` is the first; others implement the same, unchanged. */
import type { Message, ToolMessage } from '../core/chat.ts'
import type { HeldCall } from '../core/held-calls.ts'
import type { HeldRequest } from '../core/held-request.ts'
import type { Session } from '../core/principal.ts'
import type { TurnStatus } from '../core/turn-status.ts'
import type { JournalStore } from './journal-contract.ts'
import type { Leases } from './leases-contract.ts'

export type { TurnStatus } from '../core/turn-status.ts'
export type * from './journal-contract.ts'
export type { Leases, LeaseWish } from './leases-contract.ts'

/** Times are milliseconds since the epoch. Every method rejects with `store_unavailable` when the engine is down. */
export interface Stores {
  readonly sessions: SessionStore
  readonly turns: TurnStore
  readonly tools: ToolStore
  readonly calls: CallStore
  readonly leases: Leases
  readonly journal: JournalStore
  /** Rejects when the store cannot be reached. */
  ping(): Promise<void>
  /** Writes out what is behind, then closes. */
  close(): Promise<void>
}

/** A turn as the transcript keeps it: its question, all calls and results, its answer. */
export interface StoredTurn {
  readonly id: string
  readonly status: TurnStatus
  /** In order. The id of the answer's message, when there is an answer. */
  readonly answerId?: string
  readonly messages: readonly Message[]
  readonly createdAt: number
  /** Id of a turn that goes on in this one (its client has run its calls): it is taken out in the same transaction. */
  readonly replaces?: string
  /** With `replaces`: id of the answer that waited. Another one there means that another request has gone on from it. */
  readonly answers?: string
  /** The batch that its client has to go on with: rows are written for its calls. */
  readonly held?: HeldBatch
}

export interface HeldBatch {
  /** All calls of the turn's last message with calls, in order. */
  readonly calls: readonly HeldCall[]
  readonly request: HeldRequest
  /** Memory is off: the turn is only kept until its client has gone on with it. */
  readonly isForgotten: boolean
}

/** A turn that waits for its client, whole. */
export interface WaitingTurn extends StoredTurn {
  readonly session: { readonly key: string; readonly id: string; readonly branch: string }
}

export interface SessionInfo {
  readonly id: string
  readonly tenant: string
  readonly keyId: string
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly turns: number
  /** In order of discovery. */
  readonly revealed: readonly string[]
  /** Names of the session's branches beside `main`, in the order in which they were opened. */
  readonly branches: readonly string[]
  /** `auto` of tool search, as decided at the session's first turn and kept (contract §18). */
  readonly searchMode?: 'on' | 'off'
  /** What the latest round that searched has found, in order; kept for `tool_search.accumulate: false`. */
  readonly lastFound?: readonly string[]
}

export interface SessionOwner {
  readonly tenant: string
  readonly keyId: string
}

/** What stands for the turns of a session up to one, that one included, when they are recalled. */
export interface StoredSummary {
  readonly text: string
  /** Id of the last turn that it covers. */
  readonly upTo: string
}

/**
 * `append`, `reveal`, `decideSearch`, `openBranch` and `summarise` write nothing, and resolve all the same, for a turn
 * whose session was deleted after the turn began (`session.since`). A branch is a session under a key of its own
 * (`session.root` is the key of the one it belongs to): it is not listed, is used when the other is, and goes with it.
 */
export interface SessionStore {
  get(sessionKey: string): Promise<SessionInfo | undefined>
  list(owner: SessionOwner, page: { limit: number; cursor?: string }): Promise<Page<SessionInfo>>
  /**
   * The session's turns, oldest first; only those with one of the given statuses; the newest `limit` of them.
   * `ends`: their user messages and answers only, but turns that wait for something whole. Default: all messages.
   * `from`: all turns, or only those that the session's summary does not cover. Default: all.
   */
  turns(
    sessionKey: string,
    statuses: readonly TurnStatus[],
    limit: number,
    part?: 'all' | 'ends',
    from?: 'start' | 'summary'
  ): Promise<readonly StoredTurn[]>
  summary(sessionKey: string): Promise<StoredSummary | undefined>
  /**
   * Puts a summary in the place of the one that ended with `previous` (absent: there was none). Resolves to `false`,
   * and changes nothing, when another is there meanwhile, or when a turn that it covers is gone or waits.
   */
  summarise(session: Session, summary: StoredSummary, previous: string | undefined): Promise<boolean>
  /**
   * Makes the branch, unless it is there, with what its session has now: turns that have ended, the summary, revealed
   * tools. Also makes the session when it is not there.
   */
  openBranch(session: Session, owner: SessionOwner): Promise<void>
  /**
   * A new session `to` with what the one of the key has, up to the turn `upTo` (default: all of it), which may stand on
   * a branch too. A copy: either may be deleted. Turns that wait stay where they are. Rejects with `not_found` (no such
   * session or turn) or `invalid_request` (the new name is taken, or the turn waits).
   */
  fork(sessionKey: string, to: Session, owner: SessionOwner, upTo?: string): Promise<void>
  /** The transcript, oldest first, with the turn each message belongs to. */
  messages(sessionKey: string, page: { limit: number; cursor?: string }): Promise<Page<TranscriptMessage>>
  /**
   * One transaction: session row made or touched, the turn and its messages written. A turn id written before is
   * replaced. Rejects with `session_busy` when the turn that it `replaces` does not wait any more.
   */
  append(session: Session, owner: SessionOwner, turn: StoredTurn): Promise<void>
  /**
   * Appends the names that are not there yet, in order, in one transaction; resolves to the whole list.
   * `lastFound`, when given, replaces the session's (an empty list too).
   */
  reveal(
    session: Session,
    owner: SessionOwner,
    names: readonly string[],
    lastFound?: readonly string[]
  ): Promise<readonly string[]>
  /** Keeps what `auto` was decided to be; the first writer wins. Resolves to what holds. */
  decideSearch(session: Session, owner: SessionOwner, mode: 'on' | 'off'): Promise<'on' | 'off'>
  /** Texts, results, revealed tools and branches go; `false` when there was none. */
  delete(sessionKey: string): Promise<boolean>
  /** Deletes sessions not used since; resolves to how many. Called by a timer. */
  sweep(unusedSince: number): Promise<number>
}

export interface TranscriptMessage {
  readonly turnId: string
  /** Of the turn: what failed, was cancelled or superseded is never recalled. */
  readonly status: TurnStatus
  readonly createdAt: number
  readonly message: Message
}

/** The run view (contract §2.6), written once at the end of a turn. */
export interface TurnRow {
  readonly id: string
  readonly tenant: string
  readonly keyId: string
  readonly sessionId: string
  readonly createdAt: number
  /** The JSON text of the run view, as an admin sees it. */
  readonly view: string
}

export interface TurnStore {
  /** Written behind (≤ 50 ms or 256 rows): for turns that touched neither a session nor a tool. Never waits. */
  saveLater(row: TurnRow): void
  /** Durable when it resolves. */
  save(row: TurnRow): Promise<void>
  /** Sees rows that are still behind. */
  get(id: string): Promise<TurnRow | undefined>
  /** Deletes rows older than; resolves to how many. Called by a timer. */
  sweep(olderThan: number): Promise<number>
}

/** Calls that wait for a client, and the turns they belong to. `SessionStore.append` writes the rows. */
export interface CallStore {
  /** Turns of the session that wait for their client, oldest first. */
  waiting(sessionKey: string): Promise<readonly WaitingTurn[]>
  /** The waiting turn whose batch has a call of this id; whose it is, is for the caller to see. */
  ofCall(callId: string): Promise<WaitingTurn | undefined>
  ofTurn(turnId: string): Promise<WaitingTurn | undefined>
  /** All of them `requested` → `dispatched`, or none: rejects with `call_not_open`. `ids` are those of the rows. */
  claim(turn: WaitingTurn, ids: readonly string[]): Promise<void>
  /** `dispatched` → ended with a result, or without one `requested` again. Nothing is written when it was not so. */
  settle(turn: WaitingTurn, id: string, result: HeldResult | undefined): Promise<void>
  /**
   * Takes the turn out of the transcript. Rejects with `session_busy` when it is not there any more, or with another
   * answer; but not when its whole session has gone.
   */
  forget(turn: WaitingTurn): Promise<void>
}

export interface HeldResult {
  readonly state: 'succeeded' | 'failed' | 'unknown'
  readonly message: ToolMessage
}

/** A registered tool at one version. Immutable: a change is a new version. */
export interface ToolRow {
  readonly tenant: string
  readonly name: string
  readonly version: number
  readonly state: 'active' | 'pending_verification' | 'retired' | 'disabled'
  /** The JSON text of the definition as validated at registration, without secrets. */
  readonly definition: string
  /** Sealed by `Vault`; opaque to the store. */
  readonly secrets: string
  readonly createdAt: number
}

export interface ToolStore {
  /** Newest versions of a tenant's tools in order of first registration; retired ones left out. */
  list(tenant: string): Promise<readonly ToolRow[]>
  tenants(): Promise<readonly string[]>
  get(tenant: string, name: string): Promise<ToolRow | undefined>
  /**
   * Compare-and-set on the version before (0 = none, ignoring case). Rejects with `tool_name_taken` or
   * `version_conflict`.
   */
  put(row: ToolRow, previousVersion: number): Promise<void>
  setState(tenant: string, name: string, state: ToolRow['state']): Promise<void>
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly nextCursor?: string
}
