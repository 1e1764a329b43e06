import type { Tool } from '../core/chat.ts'

/** The tools of a request, as tool search sees them. */
export interface Attached {
  readonly clients: readonly Tool[]
  /** Gateway tools that are always offered, in registration order. */
  readonly pinned: readonly Tool[]
  /** Gateway tools that have to be found. */
  readonly hidden: ReadonlyMap<string, Tool>
  /** Size of the definitions of all gateway tools, as minified JSON. */
  readonly bytes: number
}

const known = new WeakMap<ReadonlyMap<string, Tool>, Attached>()
const sizes = new WeakMap<Tool, number>()

/** Parts the tools of a prompt; the same map is parted once. */
export function attachedTools(tools: ReadonlyMap<string, Tool>): Attached {
  const before = known.get(tools)
  if (before) return before
  const all = [...tools.values()]
  const gateway = all.filter(({ run }) => run !== undefined)
  const attached: Attached = {
    clients: all.filter(({ run }) => run === undefined),
    pinned: gateway.filter(({ alwaysVisible }) => alwaysVisible),
    hidden: new Map(gateway.filter(({ alwaysVisible }) => !alwaysVisible).map(tool => [tool.name, tool])),
    bytes: gateway.reduce((sum, tool) => sum + definitionBytes(tool), 0)
  }
  known.set(tools, attached)
  return attached
}

/** Bytes of a tool's definition as OpenAI spells it, minified; a quarter of it is taken for its tokens (contract §5). */
export function definitionBytes(tool: Tool): number {
  const before = sizes.get(tool)
  if (before !== undefined) return before
  const { name, description, parameters } = tool
  const size = Buffer.byteLength(JSON.stringify({ type: 'function', function: { name, description, parameters } }))
  sizes.set(tool, size)
  return size
}
