import type { Fields, ToolCall } from '../core/chat.ts'
import type { Run, ToolResult, Turn } from '../core/turn.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** Wraps the running of tool calls, outside the gateway's own guards; several stand in the order of `plugins`. */
export interface GuardPlugin<O = Fields> {
  /** Lower case letters, digits and dashes. */
  readonly name: string
  /** Names or globs of the tools it stands around; `['*']` = all. */
  readonly tools: readonly string[]
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
  /** Called once, at start. The guard gives a result of its own, or that of `next`. */
  create(options: O, services: PluginServices): (call: ToolCall, turn: Turn, next: Run) => Promise<ToolResult>
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineGuard<O = Fields>(plugin: GuardPlugin<O>): GuardPlugin<O> {
  return plugin
}
