/**
 * Loaded before the gateway (`--import`): kills the process before or after a named step of the store, the nth time it is
 * taken. `LOOPGATE_CRASH_POINT`: `<step>:<before|after>:<n>`. The gateway itself knows nothing of it.
 */
import { SqliteJournal } from '../stores/sqlite/journal.ts'
import { SqliteSessions } from '../stores/sqlite/sessions.ts'
import { SqliteTurns } from '../stores/sqlite/turns.ts'

type Method = (...parameters: unknown[]) => unknown

const OWNERS: Readonly<Record<string, object>> = {
  dispatch: SqliteJournal.prototype,
  settle: SqliteJournal.prototype,
  end: SqliteJournal.prototype,
  take: SqliteJournal.prototype,
  append: SqliteSessions.prototype,
  save: SqliteTurns.prototype
}

const [step = '', when = '', nth = '0'] = (process.env.LOOPGATE_CRASH_POINT ?? '').split(':')
const owner = OWNERS[step] as Record<string, Method> | undefined
const taken = owner?.[step]
if (owner && taken) {
  let passes = 0
  owner[step] = function (this: unknown, ...parameters: unknown[]) {
    const isNow = ++passes === Number(nth)
    if (isNow && when === 'before') process.kill(process.pid, 'SIGKILL')
    const result = taken.apply(this, parameters)
    if (!isNow) return result
    return Promise.resolve(result).then(value => {
      process.kill(process.pid, 'SIGKILL')
      return value
    })
  }
}
