import { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'

/**
 * Makes this process the only one that uses the database: holds an exclusive lock on an empty database beside it
 * (`<path>.lock`), which the system lets go of when the process ends, however it ends. The database itself stays open
 * to readers such as a backup. Throws `store_unavailable` when another process has it.
 */
export function processLock(path: string): { release(): void } {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    throw new GatewayError(
      'store_unavailable',
      `The database ${path} is in use by another process; stop that one, or give this one a store.path of its own.`,
      { cause }
    )
  }
  return { release: () => lock.close() }
}
