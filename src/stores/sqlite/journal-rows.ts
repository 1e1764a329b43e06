import type { StatementSync } from 'node:sqlite'
import type { Message } from '../../core/chat.ts'
import type { JournalTurn, KnownRequest } from '../journal-contract.ts'
import type { Engine } from './engine.ts'

const SWEPT_AT_ONCE = 500

/** Rows of the journal. Its methods run inside a read or a unit. */
export class JournalRows {
  readonly #append: StatementSync
  readonly #forget: StatementSync
  readonly #turn: StatementSync
  readonly #messages: StatementSync
  readonly #retry: StatementSync
  readonly #known: StatementSync
  readonly #keepOutcome: StatementSync
  readonly #eraseRetry: StatementSync
  readonly #lost: StatementSync
  readonly #mark: StatementSync
  readonly #ofSession: StatementSync
  readonly #erase: StatementSync
  readonly #left: Readonly<Record<'count' | 'ofSession' | 'before', StatementSync>>
  readonly #sweeps: Readonly<Record<'texts' | 'messages' | 'calls' | 'turns' | 'retries', StatementSync>>

  constructor(engine: Engine) {
    const prepare = (sql: string) => engine.prepare(sql)
    this.#append = prepare('INSERT INTO journal_messages (turn, body) VALUES (?, ?)')
    this.#forget = prepare('DELETE FROM journal_messages WHERE turn = ?')
    this.#turn = prepare('SELECT * FROM journal_turns WHERE id = ?')
    this.#messages = prepare('SELECT body FROM journal_messages WHERE turn = ? ORDER BY n')
    this.#retry = prepare('SELECT turn, body_hash, outcome FROM retries WHERE id = ? AND expires_ms > ?')
    this.#known = prepare('SELECT outcome, retries FROM journal_turns WHERE id = ?')
    this.#keepOutcome = prepare('UPDATE retries SET outcome = ? WHERE id = ? AND turn = ? AND outcome IS NULL')
    this.#eraseRetry = prepare('UPDATE retries SET outcome = NULL WHERE id = ?')
    this.#lost = prepare(`SELECT id, provider_call AS callId, tool FROM journal_calls
      WHERE id >= ? AND id < ? AND state = 'dispatched' AND effect = 'write' ORDER BY round, idx`)
    this.#mark = prepare('UPDATE journal_calls SET state = ?, ended_ms = ? WHERE id = ?')
    this.#ofSession = prepare(`SELECT id, retries FROM journal_turns
      WHERE session_key = ? AND (outcome IS NOT NULL OR state IN ('running', 'left'))`)
    this.#erase = prepare(`UPDATE journal_turns SET outcome = NULL, question = NULL,
        state = iif(state = 'left', 'failed', state) WHERE id = ?`)
    const left = `SELECT id FROM journal_turns WHERE state = 'left' AND (outcome IS NOT NULL OR state IN ('running', 'left'))`
    this.#left = {
      count: prepare(`SELECT count(*) AS n FROM journal_turns WHERE state = 'left'`),
      ofSession: prepare(`${left} AND session_key = ? ORDER BY id`),
      before: prepare(`${left} AND ended_ms < ? ORDER BY id LIMIT ${SWEPT_AT_ONCE}`)
    }
    this.#sweeps = {
      texts: prepare(`UPDATE journal_turns SET outcome = NULL, question = NULL
        WHERE outcome IS NOT NULL AND ended_ms < ?`),
      messages: prepare(`DELETE FROM journal_messages WHERE turn IN
        (SELECT id FROM journal_turns WHERE state NOT IN ('running', 'left'))`),
      calls: prepare(`DELETE FROM journal_calls WHERE id IN
        (SELECT id FROM journal_calls WHERE dispatched_ms < ? LIMIT ${SWEPT_AT_ONCE})`),
      turns: prepare(`DELETE FROM journal_turns WHERE id IN
        (SELECT id FROM journal_turns WHERE started_ms < ? AND state NOT IN ('running', 'left') LIMIT ${SWEPT_AT_ONCE})`),
      retries: prepare('DELETE FROM retries WHERE expires_ms < ?')
    }
  }

  append(turn: string, bodies: readonly string[]): void {
    for (const body of bodies) this.#append.run(turn, body)
  }

  forget(turn: string): void {
    this.#forget.run(turn)
  }

  turn(id: string): JournalTurn | undefined {
    const row = this.#turn.get(id)
    if (row === undefined) return undefined
    const {
      fence,
      state,
      session_key: key,
      session_id: name,
      branch,
      base,
      question,
      outcome,
      delivered,
      started_ms
    } = row
    return {
      ref: { turn: id, fence },
      ...{ state, session: { key, id: name, branch }, startedAt: started_ms },
      ...(base !== null && { base }),
      ...(question !== null && { question: JSON.parse(question as string) }),
      messages: this.#messages.all(id).map(({ body }) => JSON.parse(body as string) as Message),
      ...(outcome !== null && { outcome }),
      isDelivered: delivered === 1
    } as JournalTurn
  }

  retry(id: string): KnownRequest | undefined {
    const row = this.#retry.get(id, Date.now())
    if (row === undefined) return undefined
    const { turn, body_hash: bodyHash, outcome } = row as { turn: string; body_hash: string; outcome: string | null }
    return { turn, bodyHash, ...(outcome !== null && { outcome }) }
  }

  /** The turn's outcome becomes that of the requests it has had; their ids, none where it is new. */
  keepOutcome(turn: string): readonly string[] {
    const known = this.#known.get(turn)
    if (known === undefined) return []
    const ids = JSON.parse(known.retries as string) as string[]
    if (known.outcome !== null) for (const id of ids) this.#keepOutcome.run(known.outcome as string, id, turn)
    return ids
  }

  /** Calls of the turn that had left, and that may not be sent again. */
  lost(turn: string): readonly { id: string; callId: string; tool: string }[] {
    const first = `tc_${turn.slice(turn.indexOf('_') + 1)}`
    return this.#lost.all(`${first}r`, `${first}s`) as unknown as { id: string; callId: string; tool: string }[]
  }

  mark(id: string, state: 'unknown'): void {
    this.#mark.run(state, Date.now(), id)
  }

  /** The texts of a session go; that its turns ran stays. */
  erase(sessionKey: string): void {
    for (const { id, retries } of this.#ofSession.all(sessionKey)) {
      for (const retry of JSON.parse(retries as string) as string[]) this.#eraseRetry.run(retry)
      this.#forget.run(id as string)
      this.#erase.run(id as string)
    }
  }

  /** Of how many turns it is all over. */
  leftCount(): number {
    return this.#left.count.get()?.n as number
  }

  left(which: { readonly sessionKey: string } | { readonly before: number }): readonly JournalTurn[] {
    const rows = 'before' in which ? this.#left.before.all(which.before) : this.#left.ofSession.all(which.sessionKey)
    return rows.flatMap(({ id }) => this.turn(id as string) ?? [])
  }

  sweep({ textsBefore, before }: { textsBefore: number; before: number }): number {
    const { texts, messages, calls, turns, retries } = this.#sweeps
    texts.run(textsBefore)
    messages.run()
    retries.run(Date.now())
    calls.run(before)
    return Number(turns.run(before).changes)
  }
}
