import type { ToolCall } from '../../core/chat.ts'
import type { Guard, Turn } from '../../core/turn.ts'

/**
 * Has every call that leaves written down before it does. To be the innermost guard: what another one refuses has not
 * left. A turn without a journal runs its calls as they are.
 */
export const journal: Guard = {
  name: 'journal',
  guard(call, turn, next) {
    const written = turn.journal && leaves(call, turn) ? turn.journal.dispatch(call, turn) : undefined
    return written ? written.then(() => next(call, turn)) : next(call, turn)
  }
}

/** What only looks something up in the gateway itself may be done any number of times. */
function leaves({ name }: ToolCall, { prompt }: Turn): boolean {
  const tool = prompt.tools.get(name)
  if (tool?.run === undefined) return false
  return tool.kind !== 'builtin' || tool.annotations?.readOnly !== true
}
