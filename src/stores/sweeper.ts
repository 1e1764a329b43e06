import type { Log } from '../core/turn.ts'
import type { Stores } from './contracts.ts'

export interface SweeperOptions {
  /** Sessions not used for this long are deleted (`memory.ttl_ms`). */
  readonly sessionTtlMs: number
  /** Run views older than this are deleted (`audit.retention_days`). */
  readonly runTtlMs: number
  /** Ends turns that were left before this time; resolves to how many. */
  readonly closeLeft: (before: number) => Promise<number>
  /** Time between two sweeps, and before the first. Default: 10 minutes. */
  readonly everyMs?: number
  readonly log: Log
}

const EVERY_MS = 600_000
/** As long as a retry without a key may come (contract §4.12). */
const LEFT_MS = 600_000
/** As long as one with a key may. */
const TEXTS_MS = 86_400_000

/** Deletes what is past its time, by a timer that keeps no process alive. A sweep that fails is logged and tried again. */
export function sweeper(
  stores: Pick<Stores, 'sessions' | 'turns' | 'journal'>,
  { sessionTtlMs, runTtlMs, closeLeft, everyMs = EVERY_MS, log }: SweeperOptions
): { stop(): void } {
  let isStopped = false
  let timer = wait()

  function wait() {
    return setTimeout(sweep, everyMs).unref()
  }

  async function sweep() {
    try {
      const sessions = await stores.sessions.sweep(Date.now() - sessionTtlMs)
      const runs = await stores.turns.sweep(Date.now() - runTtlMs)
      const left = await closeLeft(Date.now() - LEFT_MS)
      await stores.journal.sweep({ textsBefore: Date.now() - TEXTS_MS, before: Date.now() - runTtlMs })
      if (sessions + runs + left > 0)
        log.info({ event: 'store.swept', sessions, runs, left }, 'deleted what is past its time')
    } catch (error) {
      if (!isStopped) log.error({ event: 'store.error', op: 'sweep', err: error }, 'the sweep failed')
    }
    if (!isStopped) timer = wait()
  }

  return {
    stop() {
      isStopped = true
      clearTimeout(timer)
    }
  }
}
