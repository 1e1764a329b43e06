import type { Tool } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ChatBody, WireFunction, WireTool } from './body.ts'

const NONE: ReadonlyMap<string, Tool> = new Map()

/** The client's own tools, in its order. They are forwarded as written and never run here. */
export function decodeTools({ tools, functions }: ChatBody): ReadonlyMap<string, Tool> {
  if (!tools?.length && !functions?.length) return NONE
  const decoded = new Map<string, Tool>()
  const add = (tool: Tool, param: string) => {
    if (decoded.has(tool.name)) throw twice(tool.name, param)
    decoded.set(tool.name, tool)
  }
  for (const [at, wire] of (tools ?? []).entries()) {
    if (wire.function) add(functionTool(wire.function, wire), `tools[${at}].function.name`)
    else add(otherTool(wire, at), `tools[${at}]`)
  }
  for (const [at, wire] of (functions ?? []).entries()) {
    add(functionTool(wire, { type: 'function', function: wire }), `functions[${at}].name`)
  }
  return decoded
}

function functionTool({ name, description, parameters }: WireFunction, declared: WireTool): Tool {
  return {
    name,
    kind: 'client',
    ...(description && { description }),
    ...(parameters && { parameters }),
    declared
  }
}

/** A custom tool, or a kind of tool only its upstream knows; the latter needs a name to stand in the list. */
function otherTool(wire: WireTool, at: number): Tool {
  const name = (wire.custom as { name?: unknown } | null | undefined)?.name
  if (typeof name === 'string') return { name, kind: 'client', declared: wire }
  if (wire.type === 'function' || wire.type === 'custom') {
    throw new GatewayError('invalid_request', `tools[${at}].${wire.type} must hold the tool.`, {
      param: `tools[${at}].${wire.type}`
    })
  }
  return { name: `${wire.type}:${at}`, kind: 'client', declared: wire }
}

function twice(name: string, param: string): GatewayError {
  return new GatewayError('tool_name_conflict', `Two tools of this request are named ${name}; rename one.`, { param })
}
