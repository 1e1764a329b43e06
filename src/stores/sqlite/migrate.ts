import type { DatabaseSync } from 'node:sqlite'
import { Kysely, type Migration, Migrator, SqliteDialect, sql } from 'kysely'
import { migrations } from './migrations.ts'

/**
 * Brings the tables to what this version needs; does nothing when they are. Resolves to the names of the migrations
 * that ran. Rejects when one fails, or when the database was migrated by a newer version.
 */
export async function migrate(db: DatabaseSync): Promise<readonly string[]> {
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: asKyselyWants(db) }) })
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => asMigrations() },
    migrationTableName: 'migrations',
    migrationLockTableName: 'migration_lock'
  })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error) throw error
  return results.map(({ migrationName }) => migrationName)
}

function asMigrations(): Record<string, Migration> {
  const entries = Object.entries(migrations).map(([name, statements]): [string, Migration] => [
    name,
    {
      async up(kysely) {
        for (const statement of statements) await sql.raw(statement).execute(kysely)
      }
    }
  ])
  return Object.fromEntries(entries)
}

/** Kysely asks for the shape of another driver; four methods over `DatabaseSync` are enough (spec/dependencies.md §7). */
function asKyselyWants(db: DatabaseSync): ConstructorParameters<typeof SqliteDialect>[0]['database'] {
  return async () => ({
    close() {},
    prepare(text) {
      const statement = db.prepare(text)
      const bound = (parameters: readonly unknown[]) => parameters as (string | number | bigint | null)[]
      return {
        reader: statement.columns().length > 0,
        all: parameters => statement.all(...bound(parameters)),
        run(parameters) {
          const { changes, lastInsertRowid } = statement.run(...bound(parameters))
          return { changes, lastInsertRowid }
        },
        iterate: parameters => statement.iterate(...bound(parameters))
      }
    }
  })
}
