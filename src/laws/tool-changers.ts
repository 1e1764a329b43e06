import type { Delta, Tool } from '../core/chat.ts'
import { type Emit, revise } from '../core/turn.ts'
import { LATE_TOOL, TOOLS } from './script.ts'
import type { Subject } from './subject.ts'

const lateTool: Tool = {
  name: LATE_TOOL,
  kind: 'builtin',
  run: async () => ({ content: '{"late":1}', status: 'ok', attempts: 1 })
}

const [, UNWANTED] = TOOLS

/** Advisors that change what can be called, or what was: they may do so at any round, and where there was nothing. */
export const TOOL_CHANGERS: readonly Subject[] = [
  {
    name: 'adds-tool',
    places: ['turn', 'call'],
    create: () => ({
      name: 'adds-tool',
      advise: (turn, next) => next(revise(turn, { tools: new Map([...turn.prompt.tools, [LATE_TOOL, lateTool]]) }))
    })
  },
  {
    name: 'drops-calls',
    places: ['call'],
    create: () => ({
      name: 'drops-calls',
      async advise(turn, next) {
        const answer = await next({ ...turn, emit: turn.emit && without(turn.emit) })
        const message = { ...answer.message, calls: answer.message.calls.filter(({ name }) => name !== UNWANTED) }
        return { ...answer, message, messages: answer.messages.map(each => (each.id === message.id ? message : each)) }
      }
    })
  }
]

function without(emit: Emit): Emit {
  const dropped = new Set<number>()
  return (delta: Delta) => {
    if (delta.type === 'call' && delta.name === UNWANTED) dropped.add(delta.index)
    return delta.type === 'call' && dropped.has(delta.index) ? undefined : emit(delta)
  }
}
