/** Sessions, turns and tools in one SQLite file, by what Node brings: WAL, one process, group commit. */
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'
import type { Stores } from '../contracts.ts'
import { makeFolder } from '../make-folder.ts'
import { SessionQueue } from '../session-queue.ts'
import { SqliteCalls } from './calls.ts'
import { Engine, type OnStoreError } from './engine.ts'
import { SqliteJournal } from './journal.ts'
import { migrate } from './migrate.ts'
import { processLock } from './process-lock.ts'
import { SqliteSessions } from './sessions.ts'
import { SqliteTools } from './tools.ts'
import { SqliteTurns } from './turns.ts'

/** A wait for another program's lock holds up the whole process: short, since `Engine` tries again without that. */
const LOCK_WAIT_MS = 20

export interface SqliteOptions {
  /** The file; it and its folder are made when they are not there. `:memory:`: nothing is kept, for tests and benches. */
  readonly path: string
  /** `full`: what was acknowledged survives a power cut. `normal`: only a crash of the process. */
  readonly synchronous: 'full' | 'normal'
  /** Called when the engine itself failed; it must not throw. */
  readonly onError?: OnStoreError
}

/**
 * Opens the store and brings its tables up to date. Rejects with `store_unavailable`, naming the file, when another
 * process uses it, it cannot be opened, or a newer version has migrated it.
 */
export async function openSqlite({ path, synchronous, onError = () => {} }: SqliteOptions): Promise<Stores> {
  const { db, release } = open(path)
  try {
    setUp(db, synchronous)
    await migrate(db)
    db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    const engine = new Engine(db, onError)
    const calls = new SqliteCalls(engine)
    const turns = new SqliteTurns(engine)
    const journal = new SqliteJournal(engine, turns)
    await Promise.all([calls.recover(), journal.recover()])
    return storesOn(engine, { calls, turns, journal }, release)
  } catch (cause) {
    db.close()
    release()
    throw unusable(path, cause)
  }
}

interface Opened {
  readonly calls: SqliteCalls
  readonly turns: SqliteTurns
  readonly journal: SqliteJournal
}

function storesOn(engine: Engine, { calls, turns, journal }: Opened, release: () => void): Stores {
  const isThere = engine.prepare('SELECT 1 FROM sessions LIMIT 1')
  return {
    sessions: new SqliteSessions(engine),
    turns,
    tools: new SqliteTools(engine),
    calls,
    leases: new SessionQueue(),
    journal,
    async ping() {
      engine.read(() => isThere.get())
    },
    async close() {
      // A failure was told to `onError`; what cannot be written is lost either way.
      await turns.flush().catch(() => {})
      engine.close()
      release()
    }
  }
}

function open(path: string): { db: DatabaseSync; release: () => void } {
  if (path === ':memory:') return { db: new DatabaseSync(path), release: () => {} }
  let lock: { release(): void } | undefined
  try {
    makeFolder(dirname(path))
    lock = processLock(path)
    return { db: new DatabaseSync(path, { timeout: 5000 }), release: lock.release }
  } catch (error) {
    lock?.release()
    throw error instanceof GatewayError ? error : unusable(path, error)
  }
}

function setUp(db: DatabaseSync, synchronous: SqliteOptions['synchronous']): void {
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'};
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA cache_size = -32000;
    PRAGMA temp_store = MEMORY;
  `)
}

function unusable(path: string, cause: unknown): GatewayError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const isNewer = /previously executed migration .* is missing/.test(reason)
  const sentence = isNewer
    ? `The database ${path} was made by a newer version of the gateway; start that version.`
    : `The database ${path} cannot be used: ${reason}.`
  return new GatewayError('store_unavailable', sentence, { cause })
}
