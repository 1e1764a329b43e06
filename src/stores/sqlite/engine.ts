import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'

interface Waiting {
  /** How often another program's lock kept it from being written. */
  tries: number
  readonly unit: () => unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** Called with what was attempted (`read`, `write`) when the engine itself failed; for logs and metrics. */
export type OnStoreError = (op: string, error: unknown) => void

/** Another program (a backup, a shell) holds the database: its lock is waited for about 3 s, others are served meanwhile. */
const MAX_TRIES = 40
const TRY_AGAIN_MS = 50
/** At the end there is nobody else to be served. */
const LAST_WAIT_MS = 5000
const SQLITE_BUSY = 5

/** More units than this wait for the next tick, so that a burst does not hold up everything else. */
const MAX_UNITS = 256

/**
 * One database connection. What is written within one tick goes to disk in one transaction, with a savepoint for each
 * unit: one fsync for all of them, and a unit that fails takes nothing with it (spec/state.md §0).
 */
export class Engine {
  readonly #db: DatabaseSync
  readonly #onError: OnStoreError
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #savepoint: StatementSync
  readonly #release: StatementSync
  readonly #undo: StatementSync
  #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosing = false
  #isClosed = false

  constructor(db: DatabaseSync, onError: OnStoreError) {
    this.#db = db
    this.#onError = onError
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#savepoint = db.prepare('SAVEPOINT unit')
    this.#release = db.prepare('RELEASE unit')
    this.#undo = db.prepare('ROLLBACK TO unit')
  }

  prepare(sql: string): StatementSync {
    return this.#db.prepare(sql)
  }

  /** Runs a query now; it sees what was committed. */
  read<T>(query: () => T): T {
    if (this.#isClosed) throw closed()
    try {
      return query()
    } catch (error) {
      throw this.#asOurs('read', error)
    }
  }

  /** Runs a unit in the transaction of this tick; what it resolves to is on disk. Throw in it to undo it. */
  write<T>(unit: () => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(closed())
    return new Promise<T>((resolve, reject) => {
      const waiting: Waiting = { tries: 0, unit, resolve: value => resolve(value as T), reject }
      if (this.#waiting.push(waiting) === 1) setImmediate(() => this.#flush())
    })
  }

  /** Writes what waits, then closes. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosing = true
    clearTimeout(this.#timer)
    this.#db.exec(`PRAGMA busy_timeout = ${LAST_WAIT_MS}`)
    while (this.#waiting.length > 0) this.#flush()
    this.#isClosed = true
    this.#db.close()
  }

  #flush(): void {
    if (this.#waiting.length === 0 || !this.#hasBegun()) return
    const batch = this.#waiting.splice(0, MAX_UNITS)
    if (this.#waiting.length > 0) setImmediate(() => this.#flush())
    let outcomes: Outcome[]
    try {
      outcomes = batch.map(({ unit }) => this.#step(unit, batch.length > 1))
      this.#commit.run()
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      const ours = this.#asOurs('write', error)
      for (const { reject } of batch) reject(ours)
      return
    }
    for (const [at, outcome] of outcomes.entries()) {
      const { resolve, reject } = batch[at] as Waiting
      if ('error' in outcome) reject(this.#asOurs('write', outcome.error))
      else resolve(outcome.value)
    }
  }

  /** Begins the transaction. Where that cannot be done now, what waits is put off or rejected. */
  #hasBegun(): boolean {
    try {
      this.#begin.run()
      return true
    } catch (error) {
      const canWait = !this.#isClosing && isBusy(error)
      for (const each of this.#waiting) each.tries++
      const isOver = ({ tries }: Waiting) => !canWait || tries > MAX_TRIES
      const over = this.#waiting.filter(isOver)
      this.#waiting = this.#waiting.filter(each => !isOver(each))
      if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#flush(), TRY_AGAIN_MS)
      const ours = over.length > 0 ? this.#asOurs('write', error) : undefined
      for (const { reject } of over) reject(ours)
      return false
    }
  }

  /** A failure that cost the whole transaction (a full disk) is thrown on: then nothing of the batch was written. */
  #step(unit: () => unknown, isOneOfMany: boolean): Outcome {
    if (isOneOfMany) this.#savepoint.run()
    try {
      const value = unit()
      if (isOneOfMany) this.#release.run()
      return { value }
    } catch (error) {
      if (!isOneOfMany || !this.#db.isTransaction) throw error
      this.#undo.run()
      this.#release.run()
      return { error }
    }
  }

  #asOurs(op: string, error: unknown): unknown {
    if ((error as { code?: unknown }).code !== 'ERR_SQLITE_ERROR') return error
    this.#onError(op, error)
    return new GatewayError('store_unavailable', 'The store could not be used; try again in a moment.', {
      cause: error
    })
  }
}

function closed(): GatewayError {
  return new GatewayError('store_unavailable', 'The store is closed, since the gateway is stopping.')
}

function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && (code & 0xff) === SQLITE_BUSY
}
