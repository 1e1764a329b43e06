import type { StatementSync } from 'node:sqlite'
import type { Session } from '../../core/principal.ts'
import type { Engine } from './engine.ts'

/** The tools found in a session, in order of discovery; only ever added to. Its methods run inside a read or a unit. */
export class Revealed {
  readonly #names: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync

  constructor(engine: Engine) {
    this.#names = engine.prepare(`SELECT name FROM revealed_tools
      WHERE session = (SELECT n FROM sessions WHERE key = ?) AND branch = ? ORDER BY position`)
    this.#insert = engine.prepare('INSERT INTO revealed_tools (session, branch, name, position) VALUES (?, ?, ?, ?)')
    this.#delete = engine.prepare('DELETE FROM revealed_tools WHERE session = ?')
  }

  names(sessionKey: string, branch: string): string[] {
    return this.#names.all(sessionKey, branch).map(({ name }) => name as string)
  }

  /** Adds what is not there yet; returns the whole list. */
  add(session: number, { key, branch }: Session, names: readonly string[]): string[] {
    const known = this.names(key, branch)
    for (const name of names) {
      if (known.includes(name)) continue
      this.#insert.run(session, branch, name, known.length)
      known.push(name)
    }
    return known
  }

  remove(session: number): void {
    this.#delete.run(session)
  }
}
