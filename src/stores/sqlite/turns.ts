import type { StatementSync } from 'node:sqlite'
import type { TurnRow, TurnStore } from '../contracts.ts'
import type { Engine } from './engine.ts'

/** How long, and how many rows, `saveLater` may be behind (contract §14). */
const BEHIND_MS = 50
const BEHIND_ROWS = 256
/** Rows kept while the engine is down; then the oldest are given up. */
const MAX_BEHIND = 10_000
const SWEPT_AT_ONCE = 500

const UPSERT = `INSERT INTO runs (id, tenant, key_id, session_id, created_ms, view) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET view = excluded.view`

export class SqliteTurns implements TurnStore {
  readonly #engine: Engine
  readonly #upsert: StatementSync
  readonly #get: StatementSync
  readonly #oldest: StatementSync
  readonly #delete: StatementSync
  /** Not written yet, oldest first. A list, for a Map's outgrown tables would keep the rows long after (see TurnsUnderWay). */
  #behind: TurnRow[] = []
  /** Being written. */
  #leaving: TurnRow[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#upsert = engine.prepare(UPSERT)
    this.#get = engine.prepare('SELECT * FROM runs WHERE id = ?')
    this.#oldest = engine.prepare('SELECT n, created_ms FROM runs ORDER BY n LIMIT ?')
    this.#delete = engine.prepare('DELETE FROM runs WHERE n = ?')
  }

  saveLater(row: TurnRow): void {
    const behind = this.#behind
    behind.push(row)
    if (behind.length >= BEHIND_ROWS) {
      if (behind.length > MAX_BEHIND) behind.shift()
      this.#writeBehind()
    } else {
      this.#timer ??= setTimeout(() => this.#writeBehind(), BEHIND_MS).unref()
    }
  }

  save(row: TurnRow): Promise<void> {
    return this.#engine.write(() => this.put(row))
  }

  async get(id: string): Promise<TurnRow | undefined> {
    const has = (row: TurnRow) => row.id === id
    const behind = this.#behind.findLast(has) ?? this.#leaving.findLast(has)
    if (behind) return behind
    return this.#engine.read(() => {
      const row = this.#get.get(id)
      return row && asTurnRow(row)
    })
  }

  async sweep(olderThan: number): Promise<number> {
    let swept = 0
    for (;;) {
      const count = await this.#engine.write(() => this.#sweepBatch(olderThan))
      swept += count
      if (count === 0) return swept
    }
  }

  /** Writes what is behind. Rejects when that cannot be done; the rows are then kept for the next time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#writing
    const rows = this.#behind
    if (rows.length === 0) return
    this.#behind = []
    this.#leaving = rows
    try {
      await this.#engine.write(() => {
        for (const row of rows) this.put(row)
      })
    } catch (error) {
      this.#behind = [...rows, ...this.#behind]
      throw error
    } finally {
      this.#leaving = []
    }
  }

  #writeBehind(): void {
    if (this.#writing) return
    const again = () => {
      this.#writing = undefined
      if (this.#behind.length > 0) this.#timer ??= setTimeout(() => this.#writeBehind(), BEHIND_MS).unref()
    }
    // A failure was told to the engine's listener; the rows are still there and will be tried again.
    this.#writing = this.flush().then(again, again)
  }

  /** Inside a unit. */
  put({ id, tenant, keyId, sessionId, createdAt, view }: TurnRow): void {
    this.#upsert.run(id, tenant, keyId, sessionId, createdAt, view)
  }

  /** Rows are in the order they were written, so the old ones are the first: no index on the time is needed. */
  #sweepBatch(olderThan: number): number {
    const rows = this.#oldest.all(SWEPT_AT_ONCE) as unknown as { n: number; created_ms: number }[]
    const old = rows.filter(({ created_ms }) => created_ms < olderThan)
    for (const { n } of old) this.#delete.run(n)
    return old.length
  }
}

function asTurnRow(row: Record<string, unknown>): TurnRow {
  const { id, tenant, key_id: keyId, session_id: sessionId, created_ms: createdAt, view } = row
  return { id, tenant, keyId, sessionId, createdAt, view } as TurnRow
}
