import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'

interface Waiting {
  readonly unit: () => unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** Called with what was attempted (`read`, `write`) when the engine itself failed; for logs and metrics. */
export type OnStoreError = (op: string, error: unknown) => void

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
      const waiting: Waiting = { unit, resolve: value => resolve(value as T), reject }
      if (this.#waiting.push(waiting) === 1) setImmediate(() => this.#flush())
    })
  }

  /** Writes what waits, then closes. */
  close(): void {
    if (this.#isClosed) return
    while (this.#waiting.length > 0) this.#flush()
    this.#isClosed = true
    this.#db.close()
  }

  #flush(): void {
    const batch = this.#waiting.splice(0, MAX_UNITS)
    if (batch.length === 0) return
    if (this.#waiting.length > 0) setImmediate(() => this.#flush())
    let outcomes: Outcome[]
    try {
      this.#begin.run()
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
