import type { Tool } from './chat.ts'

/** Is there a tool among these that the gateway runs? */
export function hasGatewayTool(tools: ReadonlyMap<string, Tool>): boolean {
  return tools.values().some(({ run }) => run !== undefined)
}
