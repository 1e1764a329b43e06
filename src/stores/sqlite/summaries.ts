import type { StatementSync } from 'node:sqlite'
import type { StoredSummary } from '../contracts.ts'
import type { Engine } from './engine.ts'

/** What stands for the older turns of sessions. Its methods run inside a read or a unit; `session` is its number. */
export class Summaries {
  readonly #get: StatementSync
  readonly #place: StatementSync
  readonly #waiting: StatementSync
  readonly #put: StatementSync
  readonly #delete: StatementSync

  constructor(engine: Engine) {
    this.#get = engine.prepare(
      'SELECT turn_id, text FROM summaries WHERE session = (SELECT n FROM sessions WHERE key = ?)'
    )
    this.#place = engine.prepare('SELECT until, turn_id FROM summaries WHERE session = ?')
    this.#waiting = engine.prepare(`SELECT 1 FROM session_turns WHERE session = ? AND position <= ?
      AND status IN ('running', 'awaiting_client', 'awaiting_approval')`)
    this.#put = engine.prepare(`INSERT INTO summaries (session, until, turn_id, text, created_ms) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (session) DO UPDATE SET
        until = excluded.until, turn_id = excluded.turn_id, text = excluded.text, created_ms = excluded.created_ms`)
    this.#delete = engine.prepare('DELETE FROM summaries WHERE session = ?')
  }

  get(sessionKey: string): StoredSummary | undefined {
    const row = this.#get.get(sessionKey)
    return row && { text: row.text as string, upTo: row.turn_id as string }
  }

  /** `position`: of the last turn covered. `false`: another summary is there than `previous`, or a turn before waits. */
  replace(
    session: number,
    { text, upTo, position, previous }: StoredSummary & { readonly position: number; readonly previous?: string }
  ): boolean {
    const now = this.#place.get(session)
    if (now?.turn_id !== previous || (now !== undefined && (now.until as number) >= position)) return false
    if (this.#waiting.get(session, position) !== undefined) return false
    this.#put.run(session, position, upTo, text, Date.now())
    return true
  }

  remove(session: number): void {
    this.#delete.run(session)
  }
}
