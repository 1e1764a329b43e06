import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../make-folder.ts'
import { syncPath } from '../sync-path.ts'
import { processLock } from './process-lock.ts'
import { snapshot } from './snapshot.ts'

/**
 * Puts a copy of a backup in the place of the database `path`, while no gateway uses that. What was there is kept beside
 * it; returns its new name, `undefined` when nothing was. Throws `store_unavailable`, and changes nothing, when a
 * gateway runs on it, or the backup is damaged, of a newer version, or not one at all.
 */
export function restore(path: string, from: string): string | undefined {
  if (resolve(path) === resolve(from)) {
    throw new GatewayError('store_unavailable', `${from} is the database itself; name a backup of it.`)
  }
  makeFolder(dirname(path))
  const lock = processLock(path)
  const made = `${path}.restored-${process.pid}`
  try {
    snapshot(from, made)
    const aside = moveAside(path)
    renameSync(made, path)
    syncPath(dirname(path))
    return aside
  } finally {
    rmSync(made, { force: true })
    lock.release()
  }
}

/** With its write-ahead log: that belongs to the old database, and would spoil the new one. */
function moveAside(path: string): string | undefined {
  const aside = `${path}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`
  const wasThere = existsSync(path)
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix)
  }
  return wasThere ? aside : undefined
}
