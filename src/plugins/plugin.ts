import type { AdvisorPlugin } from './define-advisor.ts'
import type { GuardPlugin } from './define-guard.ts'
import type { LoopPlugin } from './define-loop.ts'
import type { ToolPlugin } from './define-tool.ts'
import type { ToolIndexPlugin } from './define-tool-index.ts'
import type { ToolSourcePlugin } from './define-tool-source.ts'

/** What the default export of a plugin module is, by its kind. */
export interface PluginKinds {
  readonly advisor: AdvisorPlugin<unknown>
  readonly guard: GuardPlugin<unknown>
  readonly tool: ToolPlugin<unknown>
  readonly 'tool source': ToolSourcePlugin<unknown>
  readonly 'tool index': ToolIndexPlugin<unknown>
  readonly loop: LoopPlugin<unknown>
}

export type PluginKind = keyof PluginKinds

/** A plugin with the options it was given, checked. */
export type Plugin = {
  [K in PluginKind]: { readonly kind: K; readonly plugin: PluginKinds[K]; readonly options: unknown }
}[PluginKind]
