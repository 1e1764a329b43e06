import type { StatementSync } from 'node:sqlite'
import type { Engine } from './engine.ts'

/** By the name of the session, of its key; where a tenant's keys share it, of every key that has a turn in it. */
const OF_SESSION = `SELECT runs.n, runs.view FROM sessions JOIN runs
  ON runs.session_id = sessions.id AND runs.tenant = sessions.tenant
  WHERE sessions.n = ?1 AND instr(runs.view, '"augmented":{') > 0 AND (runs.key_id = sessions.key_id
    OR EXISTS (SELECT 1 FROM session_turns WHERE session_turns.id = runs.id AND session_turns.session = ?1))`

interface View {
  readonly rounds: readonly { readonly calls: readonly object[] }[]
}

/**
 * What run views have of the model's words: the values of augmentation fields. They go with their session's texts, the
 * rest of the views stays (contract §18, 2.2). Its method runs inside a unit.
 */
export class RunWords {
  readonly #find: StatementSync
  readonly #set: StatementSync

  constructor(engine: Engine) {
    this.#find = engine.prepare(OF_SESSION)
    this.#set = engine.prepare('UPDATE runs SET view = ? WHERE n = ?')
  }

  /** `session` is the number of a session that is still there with its turns. */
  remove(session: number): void {
    for (const { n, view } of this.#find.all(session)) this.#set.run(withoutWords(view as string), n as number)
  }
}

function withoutWords(view: string): string {
  const { rounds, ...rest } = JSON.parse(view) as View
  const bare = rounds.map(round => ({ ...round, calls: round.calls.map(call => ({ ...call, augmented: null })) }))
  return JSON.stringify({ ...rest, rounds: bare })
}
