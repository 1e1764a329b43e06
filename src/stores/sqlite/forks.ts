import type { StatementSync } from 'node:sqlite'
import type { Session } from '../../core/principal.ts'
import type { SessionOwner } from '../contracts.ts'
import type { Engine } from './engine.ts'

export interface ForkTarget {
  readonly session: Session
  readonly owner: SessionOwner
  /** Number of the session whose branch it will be; absent: it is one of its own. */
  readonly root?: number
  /** Position of the last turn that is taken along. */
  readonly upTo: number
}

const MAKE = `INSERT INTO sessions
  (key, id, tenant, key_id, created_ms, used_ms, turns, next_seq, search_mode, last_found, root, branch)
  SELECT ?2, ?3, ?4, ?5, ?6, ?6, 0, next_seq, search_mode, last_found, ?7, ?8 FROM sessions WHERE n = ?1
  ON CONFLICT (key) DO NOTHING RETURNING n`

/** ?1: the old session's number, ?2: the new one's, ?3: the last position. */
const COPY_TURNS = `INSERT INTO session_turns (session, position, id, status, answer_id, created_ms)
  SELECT ?2, position, id, status, answer_id, created_ms FROM session_turns
  WHERE session = ?1 AND position <= ?3 AND status NOT IN ('running', 'awaiting_client', 'awaiting_approval')
  ORDER BY position`

const COPY_MESSAGES = `INSERT INTO messages (session, seq, turn, is_end, body)
  SELECT ?2, seq, turn, is_end, body FROM messages
  WHERE session = ?1 AND turn IN (SELECT position FROM session_turns WHERE session = ?2) ORDER BY seq`

const COPY_SUMMARY = `INSERT INTO summaries (session, until, turn_id, text, created_ms)
  SELECT ?2, until, turn_id, text, created_ms FROM summaries WHERE session = ?1 AND until <= ?3`

const COPY_REVEALED = `INSERT INTO revealed_tools (session, branch, name, position)
  SELECT ?2, ?3, name, position FROM revealed_tools WHERE session = ?1`

/** Copies of sessions, as forks and as branches. Its methods run inside a unit. */
export class Forks {
  readonly #make: StatementSync
  readonly #turns: StatementSync
  readonly #messages: StatementSync
  readonly #summary: StatementSync
  readonly #revealed: StatementSync
  readonly #count: StatementSync

  constructor(engine: Engine) {
    this.#make = engine.prepare(MAKE)
    this.#turns = engine.prepare(COPY_TURNS)
    this.#messages = engine.prepare(COPY_MESSAGES)
    this.#summary = engine.prepare(COPY_SUMMARY)
    this.#revealed = engine.prepare(COPY_REVEALED)
    this.#count = engine.prepare(
      'UPDATE sessions SET turns = (SELECT count(*) FROM session_turns WHERE session = ?1) WHERE n = ?1'
    )
  }

  /** `false` when there is a session of that key already. */
  copy(from: number, { session, owner, root, upTo }: ForkTarget): boolean {
    const { key, id, branch } = session
    const made = this.#make.get(from, key, id, owner.tenant, owner.keyId, Date.now(), root ?? null, branch)
    if (made === undefined) return false
    const to = made.n as number
    this.#turns.run(from, to, upTo)
    this.#messages.run(from, to)
    this.#summary.run(from, to, upTo)
    this.#revealed.run(from, to, branch)
    this.#count.run(to)
    return true
  }
}
