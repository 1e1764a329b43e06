import type { StatementSync } from 'node:sqlite'
import type { Message } from '../../core/chat.ts'
import type { Page, StoredTurn, TranscriptMessage, TurnStatus } from '../contracts.ts'
import { cursorOf } from './cursor.ts'
import type { Engine } from './engine.ts'
import { JournalRows } from './journal-rows.ts'
import { RunWords } from './run-words.ts'

interface TurnRecord {
  readonly position: number
  readonly id: string
  readonly status: TurnStatus
  readonly answer_id: string | null
  readonly created_ms: number
}

const INSERT_TURN = `INSERT INTO session_turns (session, position, id, status, answer_id, created_ms)
  VALUES (?, ?, ?, ?, ?, ?)`

const NUMBER = '(SELECT n FROM sessions WHERE key = ?)'

const NOT_SUMMARISED =
  'AND position > coalesce((SELECT until FROM summaries WHERE summaries.session = session_turns.session), -1)'

const PAGE = `SELECT seq, id, status, created_ms, body
  FROM messages CROSS JOIN session_turns USING (session)
  WHERE session = ${NUMBER} AND seq > ? AND position = turn ORDER BY seq LIMIT ?`

/** The turns of sessions and their messages. Its methods run inside a read or a unit; `session` is its number. */
export class Transcript {
  readonly #engine: Engine
  readonly #words: RunWords
  readonly #journal: JournalRows
  readonly #key: StatementSync
  readonly #find: StatementSync
  readonly #insertTurn: StatementSync
  readonly #insertMessage: StatementSync
  readonly #dropTurn: StatementSync
  readonly #dropMessages: StatementSync
  readonly #page: StatementSync
  readonly #deleteTurns: StatementSync
  readonly #deleteMessages: StatementSync
  /** By the number of statuses asked for. */
  readonly #newest = { start: new Map<number, StatementSync>(), summary: new Map<number, StatementSync>() }
  readonly #bodies: { readonly all: StatementSync; readonly ends: StatementSync }

  constructor(engine: Engine) {
    this.#engine = engine
    this.#words = new RunWords(engine)
    this.#journal = new JournalRows(engine)
    this.#key = engine.prepare('SELECT key FROM sessions WHERE n = ?')
    this.#find = engine.prepare('SELECT position, status, answer_id FROM session_turns WHERE id = ? AND session = ?')
    this.#insertTurn = engine.prepare(INSERT_TURN)
    this.#insertMessage = engine.prepare(
      'INSERT INTO messages (session, seq, turn, is_end, body) VALUES (?, ?, ?, ?, ?)'
    )
    this.#dropTurn = engine.prepare('DELETE FROM session_turns WHERE session = ? AND position = ?')
    this.#dropMessages = engine.prepare('DELETE FROM messages WHERE session = ? AND seq > ?2 AND turn = ?2')
    this.#page = engine.prepare(PAGE)
    this.#deleteTurns = engine.prepare('DELETE FROM session_turns WHERE session = ?')
    this.#deleteMessages = engine.prepare('DELETE FROM messages WHERE session = ?')
    const bodies = `SELECT turn, body FROM messages WHERE session = ${NUMBER} AND seq > ?`
    this.#bodies = {
      all: engine.prepare(`${bodies} ORDER BY seq`),
      ends: engine.prepare(`${bodies} AND is_end = 1 ORDER BY seq`)
    }
  }

  turns(
    sessionKey: string,
    statuses: readonly TurnStatus[],
    limit: number,
    { part, from }: { readonly part: 'all' | 'ends'; readonly from: 'start' | 'summary' }
  ): StoredTurn[] {
    const newest = this.#newestOf(statuses.length, from)
    const found = newest.all(sessionKey, ...statuses, limit) as unknown as TurnRecord[]
    const oldest = found.at(-1)
    if (oldest === undefined) return []
    const messages = new Map(found.map(({ position }): [number, Message[]] => [position, []]))
    // One walk over the rows from the oldest turn on; those of turns that were not asked for are passed over.
    for (const { turn, body } of this.#bodies[part].all(sessionKey, oldest.position)) {
      messages.get(turn as number)?.push(JSON.parse(body as string) as Message)
    }
    return found.reverse().map(({ position, id, status, answer_id, created_ms }) => ({
      id,
      status,
      ...(answer_id !== null && { answerId: answer_id }),
      messages: messages.get(position) ?? [],
      createdAt: created_ms
    }))
  }

  page(sessionKey: string, after: number, limit: number): Page<TranscriptMessage> {
    const found = this.#page.all(sessionKey, after, limit + 1)
    const rows = found.slice(0, limit)
    const data = rows.map(({ id, status, created_ms, body }) => ({
      turnId: id as string,
      status: status as TurnStatus,
      createdAt: created_ms as number,
      message: JSON.parse(body as string) as Message
    }))
    const last = rows.at(-1)
    return found.length > limit && last ? { data, nextCursor: cursorOf([last.seq as number]) } : { data }
  }

  /** Is what the turn replaces still to be had? */
  mayReplace(session: number, { replaces, answers }: StoredTurn): boolean {
    return replaces === undefined || this.isWaiting(session, replaces, answers)
  }

  /** Is the turn there, and still open; with this answer, if one is named? */
  isWaiting(session: number, turnId: string, answerId: string | undefined): boolean {
    const row = this.#find.get(turnId, session)
    return isOpen(row?.status as TurnStatus) && (answerId === undefined || row?.answer_id === answerId)
  }

  /** Where the turn stands among those of its session, and whether it still waits for something. */
  find(session: number, turnId: string): { readonly position: number; readonly isOpen: boolean } | undefined {
    const row = this.#find.get(turnId, session)
    return row && { position: row.position as number, isOpen: isOpen(row.status as TurnStatus) }
  }

  /** Takes a turn out with its messages; how many there were, 0 or 1. */
  take(session: number, turnId: string | undefined): number {
    const row = turnId === undefined ? undefined : this.#find.get(turnId, session)
    if (row === undefined) return 0
    const position = row.position as number
    this.#dropMessages.run(session, position)
    this.#dropTurn.run(session, position)
    return 1
  }

  write(
    session: number,
    turn: StoredTurn,
    { position, bodies }: { position: number; bodies: readonly string[] }
  ): void {
    const { id, status, answerId, messages, createdAt } = turn
    this.#insertTurn.run(session, position, id, status, answerId ?? null, createdAt)
    for (const [at, message] of messages.entries()) {
      const isEnd = isOpen(status) || message.role === 'user' || message.id === answerId
      this.#insertMessage.run(session, position + 1 + at, position, isEnd ? 1 : 0, bodies[at] as string)
    }
  }

  /** All turns and messages, and what run views have of their texts. */
  remove(session: number): void {
    this.#words.remove(session)
    const row = this.#key.get(session)
    if (row) this.#journal.erase(row.key as string)
    this.#deleteMessages.run(session)
    this.#deleteTurns.run(session)
  }

  #newestOf(statuses: number, from: 'start' | 'summary'): StatementSync {
    const known = this.#newest[from].get(statuses)
    if (known) return known
    const places = Array(statuses).fill('?').join(', ')
    const statement = this.#engine.prepare(`SELECT position, id, status, answer_id, created_ms FROM session_turns
      WHERE session = ${NUMBER} AND status IN (${places}) ${from === 'summary' ? NOT_SUMMARISED : ''}
      ORDER BY position DESC LIMIT ?`)
    this.#newest[from].set(statuses, statement)
    return statement
  }
}

function isOpen(status: TurnStatus): boolean {
  return status === 'running' || status === 'awaiting_client' || status === 'awaiting_approval'
}
