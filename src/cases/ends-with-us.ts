import type { ChildProcess } from 'node:child_process'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const running = new Map<ChildProcess, NodeJS.Signals>()
let isWatching = false

/**
 * Ends the child when this process ends before it: by itself, or by a signal that can be caught. Node alone leaves it
 * behind, for `exit` is not told of signals. A child with children of its own needs `SIGTERM` to end them in its turn.
 */
export function endsWithUs<Child extends ChildProcess>(child: Child, signal: NodeJS.Signals = 'SIGKILL'): Child {
  watch()
  running.set(child, signal)
  child.once('exit', () => running.delete(child))
  return child
}

function watch(): void {
  if (isWatching) return
  isWatching = true
  process.on('exit', endAll)
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      endAll()
      // Now that nobody catches it, or the next who does has its turn.
      process.kill(process.pid, signal)
    })
  }
}

function endAll(): void {
  for (const [child, signal] of running) child.kill(signal)
}
