import { hash } from 'node:crypto'
import type { StatementSync } from 'node:sqlite'
import type { Message, ToolMessage } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type {
  Begin,
  Dispatch,
  JournalEnd,
  JournalHead,
  JournalRef,
  JournalStore,
  JournalTurn,
  KnownRequest,
  Settled,
  UnknownCall
} from '../journal-contract.ts'
import type { Engine } from './engine.ts'
import { JournalRows } from './journal-rows.ts'
import type { SqliteTurns } from './turns.ts'

/** How long `delivered` may be behind. Lost with the process, it makes a retry be answered again, which is right. */
const BEHIND_MS = 50

export class SqliteJournal implements JournalStore {
  readonly #engine: Engine
  readonly #runs: SqliteTurns
  readonly #rows: JournalRows
  readonly #begin: StatementSync
  readonly #check: StatementSync
  readonly #checkLate: StatementSync
  readonly #retry: StatementSync
  readonly #call: StatementSync
  readonly #settle: StatementSync
  readonly #end: StatementSync
  readonly #take: StatementSync
  readonly #deliver: StatementSync
  #delivered: string[] = []
  /** At least so many turns are left. */
  #leftCount = 0

  constructor(engine: Engine, runs: SqliteTurns) {
    this.#engine = engine
    this.#runs = runs
    this.#rows = new JournalRows(engine)
    this.#begin = engine.prepare(`INSERT INTO journal_turns
        (id, session_key, session_id, branch, fence, state, base, question, retries, started_ms)
        VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET state = 'running', fence = excluded.fence, base = excluded.base,
        question = excluded.question, retries = excluded.retries, outcome = NULL,
        delivered = 0, ended_ms = NULL
      WHERE state NOT IN ('running', 'left')`)
    this.#check = engine.prepare(`SELECT 1 FROM journal_turns WHERE id = ? AND fence = ? AND state = 'running'`)
    this.#checkLate = engine.prepare(
      `SELECT 1 FROM journal_turns WHERE id = ? AND fence = ? AND state IN ('running', 'left')`
    )
    this.#retry = engine.prepare(`INSERT INTO retries (id, turn, body_hash, expires_ms) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, body_hash = excluded.body_hash,
        outcome = NULL, expires_ms = excluded.expires_ms`)
    this.#call = engine.prepare(`INSERT INTO journal_calls (id, turn, round, idx, provider_call, tool, tool_version,
        effect, args_hash, state, attempt, dispatched_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'dispatched', 1, ?)
      ON CONFLICT (id) DO UPDATE SET state = 'dispatched', attempt = attempt + 1, dispatched_ms = excluded.dispatched_ms,
        provider_call = excluded.provider_call, args_hash = excluded.args_hash, ended_ms = NULL`)
    this.#settle = engine.prepare(`UPDATE journal_calls SET state = ?, ended_ms = ?
      WHERE turn = ? AND provider_call = ? AND state = 'dispatched'`)
    this.#end = engine.prepare(`UPDATE journal_turns SET state = ?, outcome = ?, ended_ms = ?
      WHERE id = ? AND fence = ? AND state = 'running'`)
    this.#take = engine.prepare(`UPDATE journal_turns SET state = 'running', fence = fence + 1, ended_ms = NULL
      WHERE id = ? AND state = 'left'`)
    this.#deliver = engine.prepare('UPDATE journal_turns SET delivered = 1 WHERE id = ?')
  }

  /** To be called once, before anything runs: what the last process had under way, it has left. */
  async recover(): Promise<void> {
    const leave = this.#engine.prepare(
      `UPDATE journal_turns SET state = 'left', ended_ms = ? WHERE state = 'running' AND ended_ms IS NULL`
    )
    await this.#engine.write(() => leave.run(Date.now()))
    this.#leftCount = this.#engine.read(() => this.#rows.leftCount())
  }

  begin({ ref, head, run }: Begin): Promise<void> {
    return this.#engine.write(() => {
      this.#open(ref, head)
      this.#runs.put(run)
    })
  }

  dispatch({ ref, head, run, messages, call }: Dispatch): Promise<void> {
    const bodies = messages.map(message => JSON.stringify(message))
    const argsHash = hash('sha256', call.arguments, 'hex')
    return this.#engine.write(() => {
      if (head) this.#open(ref, head)
      else this.#mine(ref)
      this.#runs.put(run)
      this.#rows.append(ref.turn, bodies)
      const { id, round, index, callId, tool, toolVersion, effect } = call
      this.#call.run(id, ref.turn, round, index, callId, tool, toolVersion, effect, argsHash, Date.now())
    })
  }

  settle({ ref, callId, messages }: Settled): Promise<void> {
    const bodies = messages.map(message => JSON.stringify(message))
    const isError = messages.some(message => message.role === 'tool' && message.callId === callId && message.isError)
    return this.#engine.write(() => {
      // A call may end after its client has left.
      if (this.#checkLate.get(ref.turn, ref.fence) === undefined) throw taken()
      this.#rows.append(ref.turn, bodies)
      this.#settle.run(isError ? 'failed' : 'succeeded', Date.now(), ref.turn, callId)
    })
  }

  end({ ref, state, outcome }: JournalEnd): Promise<void> {
    return this.#engine.write(() => {
      if (this.#end.run(state, outcome ?? null, Date.now(), ref.turn, ref.fence).changes !== 1) throw taken()
      if (state === 'left') this.#leftCount++
      else this.#rows.forget(ref.turn)
    })
  }

  async get(turn: string): Promise<JournalTurn | undefined> {
    return this.#engine.read(() => this.#rows.turn(turn))
  }

  async retry(id: string): Promise<KnownRequest | undefined> {
    return this.#engine.read(() => this.#rows.retry(id))
  }

  take(turn: string, unknown: (call: UnknownCall) => ToolMessage): Promise<JournalTurn | undefined> {
    return this.#engine.write(() => {
      if (this.#take.run(turn).changes !== 1) return undefined
      this.#leftCount--
      const lost = this.#rows.lost(turn)
      this.#rows.append(
        turn,
        lost.map(call => JSON.stringify(unknown({ turn, ...call }) satisfies Message))
      )
      for (const { id } of lost) this.#rows.mark(id, 'unknown')
      return this.#rows.turn(turn)
    })
  }

  delivered(turn: string): void {
    if (this.#delivered.push(turn) === 1) setTimeout(() => this.#writeDelivered(), BEHIND_MS).unref()
  }

  async left(which: { readonly sessionKey: string } | { readonly before: number }): Promise<readonly JournalTurn[]> {
    // Hardly ever there is one, and every turn of a session asks.
    if (this.#leftCount === 0) return []
    return this.#engine.read(() => this.#rows.left(which))
  }

  sweep(times: { textsBefore: number; before: number }): Promise<number> {
    return this.#engine.write(() => this.#rows.sweep(times))
  }

  #open({ turn, fence }: JournalRef, { session, base, question, startedAt, retries }: JournalHead): void {
    const { key, id, branch } = session
    const asked = question === undefined ? null : JSON.stringify(question)
    // A turn that goes on with another request: what the one before came to is that one's own from now on.
    const before = this.#rows.keepOutcome(turn)
    const ids = JSON.stringify([...before, ...retries.map(({ id: retry }) => retry)])
    const begun = this.#begin.run(turn, key, id, branch, fence, base ?? null, asked, ids, startedAt)
    if (begun.changes !== 1) throw taken()
    for (const { id: retry, bodyHash, expiresAt } of retries) this.#retry.run(retry, turn, bodyHash, expiresAt)
  }

  #mine({ turn, fence }: JournalRef): void {
    if (this.#check.get(turn, fence) === undefined) throw taken()
  }

  #writeDelivered(): void {
    const turns = this.#delivered
    this.#delivered = []
    // A failure was told to the engine's listener.
    this.#engine.write(() => turns.forEach(turn => void this.#deliver.run(turn))).catch(() => {})
  }
}

function taken(): GatewayError {
  return new GatewayError('turn_cancelled', 'Another request goes on with this turn.')
}
