import type { Fields, ToolCall } from '../core/chat.ts'
import type { Turn } from '../core/turn.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** A tool that the gateway runs itself. Spelled as a registered one. */
export interface CodeTool<O = Fields> {
  /** A function name: letters, digits, `_` and `-`, at most 63. */
  readonly name: string
  /** What the model reads, at most 1,024 characters. */
  readonly description: string
  /** JSON Schema of the arguments; calls that do not fit it are refused. */
  readonly input_schema: Fields
  readonly annotations?: {
    readonly read_only?: boolean
    readonly destructive?: boolean
    readonly idempotent?: boolean
  }
  /** A search can be kept to one group. */
  readonly group?: string
  /** Offered without being searched for. */
  readonly always_visible?: boolean
  /** Never run beside other calls. */
  readonly sequential?: boolean
  /** Its result is the answer, where that holds for every call of the batch. */
  readonly return_direct?: boolean
  /** Roles that may use it. Default: all. */
  readonly allow_roles?: readonly string[]
  /**
   * Gives the result: text as it is, everything else as JSON, `undefined` as `(no content)`. A `GatewayError` is told
   * to the model in its words; any other error is logged, and the model told that the tool failed.
   */
  run(args: Fields, context: ToolContext<O>): unknown
}

/** What a tool is told beside its arguments. */
export interface ToolContext<O = Fields> {
  readonly call: ToolCall
  /** Its signal says that nobody waits any more. */
  readonly turn: Turn
  readonly options: O
  readonly services: PluginServices
}

/** A tool as a plugin of its own. */
export interface ToolPlugin<O = Fields> extends CodeTool<O> {
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineTool<O = Fields>(plugin: ToolPlugin<O>): ToolPlugin<O> {
  return plugin
}
