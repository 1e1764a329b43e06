import type { Fields } from '../core/chat.ts'
import type { Principal } from '../core/principal.ts'
import type { CodeTool } from './define-tool.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** Tools from elsewhere. Of those it lists a turn gets what key, roles and request allow, as of all tools. */
export interface ToolSourcePlugin<O = Fields> {
  /** Lower case letters, digits and dashes. */
  readonly name: string
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
  /** How long a list holds, in ms; then the next turn of the principal waits for a new one. */
  readonly ttl_ms: number
  /** The tools there are for the principal. When it fails, those that it listed last stay. */
  list(principal: Principal, context: SourceContext<O>): readonly CodeTool<O>[] | Promise<readonly CodeTool<O>[]>
}

/** What a source is told beside the principal. */
export interface SourceContext<O = Fields> {
  readonly options: O
  readonly services: PluginServices
  /** Aborted when the list is no longer waited for. */
  readonly signal: AbortSignal
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineToolSource<O = Fields>(plugin: ToolSourcePlugin<O>): ToolSourcePlugin<O> {
  return plugin
}
