import type { StatementSync } from 'node:sqlite'
import type { Message } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Session } from '../../core/principal.ts'
import type {
  Page,
  SessionInfo,
  SessionOwner,
  SessionStore,
  StoredSummary,
  StoredTurn,
  TranscriptMessage,
  TurnStatus
} from '../contracts.ts'
import { cursorOf, placeOf } from './cursor.ts'
import { Deletions } from './deletions.ts'
import type { Engine } from './engine.ts'
import { Forks } from './forks.ts'
import { Held } from './held.ts'
import { Revealed } from './revealed.ts'
import { Summaries } from './summaries.ts'
import { Transcript } from './transcript.ts'

interface SessionRow {
  readonly n: number
  readonly key: string
  readonly id: string
  readonly tenant: string
  readonly key_id: string
  readonly created_ms: number
  readonly used_ms: number
  readonly turns: number
  readonly search_mode: 'on' | 'off' | null
  readonly last_found: string | null
  readonly branch: string
}

/** Sessions looked at in one unit of a sweep, which holds up everything else while it runs. */
const SWEPT_AT_ONCE = 200

/** Behind every turn there is. */
const EVERYTHING = Number.MAX_SAFE_INTEGER

/** What every session starts with is made by whichever write comes first. */
const TOUCH = `INSERT INTO sessions (key, id, tenant, key_id, created_ms, used_ms, turns, next_seq, root, branch)
  VALUES (?, ?, ?, ?, ?5, ?5, ?6, ?7, ?8, ?9)
  ON CONFLICT (key) DO UPDATE SET
    used_ms = max(used_ms, excluded.used_ms), turns = turns + excluded.turns, next_seq = next_seq + excluded.next_seq
  RETURNING n, next_seq`

export class SqliteSessions implements SessionStore {
  readonly #engine: Engine
  readonly #deletions = new Deletions()
  readonly #transcript: Transcript
  readonly #revealed: Revealed
  readonly #held: Held
  readonly #summaries: Summaries
  readonly #forks: Forks
  readonly #get: StatementSync
  readonly #list: StatementSync
  readonly #branches: StatementSync
  readonly #walk: StatementSync
  readonly #touch: StatementSync
  readonly #decide: StatementSync
  readonly #setFound: StatementSync
  readonly #count: StatementSync
  readonly #delete: StatementSync

  constructor(engine: Engine) {
    this.#engine = engine
    this.#transcript = new Transcript(engine)
    this.#revealed = new Revealed(engine)
    this.#held = new Held(engine)
    this.#summaries = new Summaries(engine)
    this.#forks = new Forks(engine)
    this.#get = engine.prepare('SELECT * FROM sessions WHERE key = ?')
    this.#list = engine.prepare(`SELECT * FROM sessions WHERE tenant = ? AND key_id = ?
      AND (created_ms, key) < (?, ?) AND root IS NULL ORDER BY created_ms DESC, key DESC LIMIT ?`)
    this.#branches = engine.prepare('SELECT n, branch FROM sessions WHERE root = ? ORDER BY n')
    this.#walk = engine.prepare('SELECT n, used_ms FROM sessions WHERE n > ? AND root IS NULL ORDER BY n LIMIT ?')
    this.#touch = engine.prepare(TOUCH)
    this.#decide = engine.prepare(`UPDATE sessions SET search_mode = coalesce(search_mode, ?) WHERE n = ?
      RETURNING search_mode`)
    this.#setFound = engine.prepare('UPDATE sessions SET last_found = ? WHERE n = ?')
    this.#count = engine.prepare('UPDATE sessions SET turns = turns - ? WHERE n = ?')
    this.#delete = engine.prepare('DELETE FROM sessions WHERE n = ?')
  }

  async get(sessionKey: string): Promise<SessionInfo | undefined> {
    return this.#engine.read(() => {
      const row = this.#get.get(sessionKey)
      return row && this.#info(row as unknown as SessionRow)
    })
  }

  /** Newest first, by when they were made. */
  async list(owner: SessionOwner, { limit, cursor }: { limit: number; cursor?: string }): Promise<Page<SessionInfo>> {
    const [before, key] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, ''] : placeOf(cursor, [0, ''])
    return this.#engine.read(() => {
      const found = this.#list.all(owner.tenant, owner.keyId, before, key, limit + 1) as unknown as SessionRow[]
      const rows = found.slice(0, limit)
      const last = rows.at(-1)
      const data = rows.map(row => this.#info(row))
      return found.length > limit && last ? { data, nextCursor: cursorOf([last.created_ms, last.key]) } : { data }
    })
  }

  async turns(
    sessionKey: string,
    statuses: readonly TurnStatus[],
    limit: number,
    part: 'all' | 'ends' = 'all',
    from: 'start' | 'summary' = 'start'
  ) {
    return this.#engine.read(() => this.#transcript.turns(sessionKey, statuses, limit, { part, from }))
  }

  async summary(sessionKey: string): Promise<StoredSummary | undefined> {
    return this.#engine.read(() => this.#summaries.get(sessionKey))
  }

  summarise(session: Session, summary: StoredSummary, previous: string | undefined): Promise<boolean> {
    return this.#engine.write(() => {
      const row = this.#deletions.isOver(session) ? undefined : this.#get.get(session.key)
      if (row === undefined) return false
      const n = row.n as number
      const position = this.#transcript.find(n, summary.upTo)?.position
      if (position === undefined) return false
      return this.#summaries.replace(n, { ...summary, position, ...(previous !== undefined && { previous }) })
    })
  }

  async openBranch(session: Session, owner: SessionOwner): Promise<void> {
    const isThere = () => this.#get.get(session.key) !== undefined
    if (this.#engine.read(isThere)) return
    await this.#engine.write(() => {
      // Another request may have opened it meanwhile.
      if (this.#deletions.isOver(session) || isThere()) return
      const root = this.#touchedRoot(session, owner)
      if (root !== undefined) this.#forks.copy(root, { session, owner, root, upTo: EVERYTHING })
    })
  }

  fork(sessionKey: string, to: Session, owner: SessionOwner, upTo?: string): Promise<void> {
    return this.#engine.write(() => {
      const row = this.#get.get(sessionKey)
      if (row === undefined) throw new GatewayError('not_found', 'There is no such session.')
      const { session, position } = this.#placeOf(row.n as number, upTo)
      if (!this.#forks.copy(session, { session: to, owner, upTo: position })) throw taken(to)
    })
  }

  async messages(
    sessionKey: string,
    { limit, cursor }: { limit: number; cursor?: string }
  ): Promise<Page<TranscriptMessage>> {
    const [after] = cursor === undefined ? [-1] : placeOf(cursor, [0])
    return this.#engine.read(() => this.#transcript.page(sessionKey, after, limit))
  }

  append(session: Session, owner: SessionOwner, turn: StoredTurn): Promise<void> {
    const { messages } = turn
    // Outside the transaction: what cannot be written as JSON fails before anything is held up.
    const bodies = messages.map((message: Message) => JSON.stringify(message))
    return this.#engine.write(() => {
      if (this.#deletions.isOver(session)) return
      const { n, next_seq } = this.#touched(session, owner, { turns: 1, seqs: 1 + bodies.length })
      if (!this.#transcript.mayReplace(n, turn)) throw answeredBefore()
      this.#held.replace(n, turn)
      const gone = this.#transcript.take(n, turn.replaces) + this.#transcript.take(n, turn.id)
      if (gone > 0) this.#count.run(gone, n)
      this.#transcript.write(n, turn, { position: next_seq - 1 - bodies.length, bodies })
    })
  }

  reveal(
    session: Session,
    owner: SessionOwner,
    names: readonly string[],
    lastFound?: readonly string[]
  ): Promise<readonly string[]> {
    return this.#engine.write(() => {
      if (this.#deletions.isOver(session)) return this.#revealed.names(session.key, session.branch)
      const { n } = this.#touched(session, owner, { turns: 0, seqs: 0 })
      if (lastFound) this.#setFound.run(JSON.stringify(lastFound), n)
      return this.#revealed.add(n, session, names)
    })
  }

  decideSearch(session: Session, owner: SessionOwner, mode: 'on' | 'off'): Promise<'on' | 'off'> {
    return this.#engine.write(() => {
      if (this.#deletions.isOver(session)) return mode
      const { n } = this.#touched(session, owner, { turns: 0, seqs: 0 })
      return (this.#decide.get(mode, n) as { search_mode: 'on' | 'off' }).search_mode
    })
  }

  async delete(sessionKey: string): Promise<boolean> {
    try {
      return await this.#engine.write(() => {
        const row = this.#get.get(sessionKey)
        if (row === undefined) return false
        this.#remove(row.n as number)
        this.#deletions.add(sessionKey)
        return true
      })
    } catch (error) {
      this.#deletions.forget(sessionKey)
      throw error
    }
  }

  async sweep(unusedSince: number): Promise<number> {
    let swept = 0
    let from: number | undefined = 0
    while (from !== undefined) {
      const start: number = from
      const done = await this.#engine.write(() => this.#sweepFrom(start, unusedSince))
      swept += done.swept
      from = done.next
    }
    return swept
  }

  #sweepFrom(start: number, unusedSince: number): { swept: number; next: number | undefined } {
    const rows = this.#walk.all(start, SWEPT_AT_ONCE) as unknown as Pick<SessionRow, 'n' | 'used_ms'>[]
    const unused = rows.filter(({ used_ms }) => used_ms < unusedSince)
    for (const { n } of unused) this.#remove(n)
    return { swept: unused.length, next: rows.length < SWEPT_AT_ONCE ? undefined : rows.at(-1)?.n }
  }

  #touched(session: Session, owner: SessionOwner, { turns, seqs }: { turns: number; seqs: number }) {
    const { key, id, branch } = session
    const root = this.#touchedRoot(session, owner) ?? null
    const row = this.#touch.get(key, id, owner.tenant, owner.keyId, Date.now(), turns, seqs, root, branch)
    return row as { n: number; next_seq: number }
  }

  /** The number of the session whose branch this is. It is used whenever a branch is. */
  #touchedRoot({ root, id }: Session, { tenant, keyId }: SessionOwner): number | undefined {
    if (root === undefined) return undefined
    return this.#touch.get(root, id, tenant, keyId, Date.now(), 0, 0, null, 'main')?.n as number
  }

  /** Which of the session and its branches has the turn, and where; without a turn, the end of the session. */
  #placeOf(n: number, turnId: string | undefined): { session: number; position: number } {
    if (turnId === undefined) return { session: n, position: EVERYTHING }
    for (const session of [n, ...this.#branchesOf(n).map(branch => branch.n)]) {
      const found = this.#transcript.find(session, turnId)
      if (found?.isOpen) throw waits(turnId)
      if (found) return { session, position: found.position }
    }
    throw new GatewayError('not_found', `The session has no turn ${turnId}.`, { param: 'turn_id' })
  }

  #branchesOf(n: number): readonly { readonly n: number; readonly branch: string }[] {
    return this.#branches.all(n) as { n: number; branch: string }[]
  }

  #remove(n: number): void {
    for (const each of [n, ...this.#branchesOf(n).map(branch => branch.n)]) {
      this.#transcript.remove(each)
      this.#held.remove(each)
      this.#revealed.remove(each)
      this.#summaries.remove(each)
      this.#delete.run(each)
    }
  }

  #info(row: SessionRow): SessionInfo {
    return {
      id: row.id,
      tenant: row.tenant,
      keyId: row.key_id,
      createdAt: row.created_ms,
      lastUsedAt: row.used_ms,
      turns: row.turns,
      revealed: this.#revealed.names(row.key, row.branch),
      branches: this.#branchesOf(row.n).map(({ branch }) => branch),
      ...(row.search_mode !== null && { searchMode: row.search_mode }),
      ...(row.last_found !== null && { lastFound: JSON.parse(row.last_found) as string[] })
    }
  }
}

function answeredBefore(): GatewayError {
  return new GatewayError('session_busy', 'Another request of the session has gone on from these calls already.')
}

function taken({ id }: Session): GatewayError {
  return new GatewayError('invalid_request', `There is a session ${id} already; give the fork another name.`, {
    param: 'session_id'
  })
}

function waits(turnId: string): GatewayError {
  return new GatewayError('invalid_request', `The turn ${turnId} waits for its client; fork at an earlier one.`, {
    param: 'turn_id'
  })
}
