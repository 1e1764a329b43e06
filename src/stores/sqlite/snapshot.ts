import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../make-folder.ts'
import { syncPath } from '../sync-path.ts'
import { checkDatabase } from './check-database.ts'

/**
 * Copies a database to a new file, as it is at this moment; a gateway that writes to it meanwhile is not held up. What
 * was deleted is not in the copy. The copy is read through before it gets its name, and is on disk then. Throws
 * `store_unavailable`, naming the file, when one cannot be read or written, is damaged, or `to` is there already.
 */
export function snapshot(from: string, to: string): void {
  if (!existsSync(from)) throw new GatewayError('store_unavailable', `There is no database ${from}.`)
  if (existsSync(to)) throw new GatewayError('store_unavailable', `${to} is there already; name another file.`)
  const part = `${to}.part-${process.pid}`
  try {
    makeFolder(dirname(to))
    // It holds what people wrote: for its owner only.
    closeSync(openSync(part, 'wx', 0o600))
    copy(from, part)
    checkDatabase(part)
    syncPath(part)
    renameSync(part, to)
    syncPath(dirname(to))
  } catch (cause) {
    rmSync(part, { force: true })
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new GatewayError('store_unavailable', `${from} cannot be copied to ${to}: ${reason}.`, { cause })
  }
}

/** One read transaction, whatever else writes: it sees what was committed when it began, the write-ahead log too. */
function copy(from: string, to: string): void {
  const db = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
}
