import { DatabaseSync } from 'node:sqlite'
import { migrations } from './migrations.ts'

/**
 * Throws, saying why, unless the file is a whole database of the gateway that this version can open: one of an older
 * version is, since it is brought up to date when the gateway starts.
 */
export function checkDatabase(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const found = db.prepare('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok') throw new Error(`it is damaged (${found})`)
    const names = migrated(db)
    if (names.length === 0) throw new Error('it is not a database of the gateway')
    const newer = names.find(name => !Object.hasOwn(migrations, name))
    if (newer !== undefined) throw new Error(`it was made by another version of the gateway (migration ${newer})`)
  } finally {
    db.close()
  }
}

function migrated(db: DatabaseSync): readonly string[] {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`).get()
  return table === undefined
    ? []
    : db
        .prepare('SELECT name FROM migrations')
        .all()
        .map(({ name }) => String(name))
}
