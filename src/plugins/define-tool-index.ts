import type { Fields } from '../core/chat.ts'
import type { Searchable } from '../core/finder.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** Another way to find tools, named in `tool_search.index`. */
export interface ToolIndexPlugin<O = Fields> {
  /** Lower case letters, digits and dashes. */
  readonly name: string
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
  /** Called for every distinct set of tools, when it is first searched. */
  build(tools: readonly Searchable[], context: IndexContext<O>): BuiltIndex | Promise<BuiltIndex>
}

/** What an index is told beside the tools. */
export interface IndexContext<O = Fields> {
  readonly options: O
  readonly services: PluginServices
}

/** Searches one set of tools. When it fails, the built-in index answers in its place. */
export interface BuiltIndex {
  /** Names of tools, best first; those beyond `max` and those that are none of the tools are left out. */
  search(query: string, max: number): readonly string[] | Promise<readonly string[]>
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineToolIndex<O = Fields>(plugin: ToolIndexPlugin<O>): ToolIndexPlugin<O> {
  return plugin
}
