/** What the package offers to those who write plugins: the types of a turn, and the laws to test advisors against. */

export { parseArguments } from './core/arguments.ts'
export { Assembly } from './core/assemble.ts'
export type * from './core/chat.ts'
export { ERRORS, type ErrorCode, type ErrorDetail, GatewayError } from './core/errors.ts'
export type { TurnEvent } from './core/events.ts'
export type { Searchable } from './core/finder.ts'
export { newMessage } from './core/new-message.ts'
export type { Limits, MemoryPolicy, Policy, ToolSearchPolicy } from './core/policy.ts'
export type { Principal, Session } from './core/principal.ts'
export { replay } from './core/replay.ts'
export { type Rewriter, rewrite } from './core/rewrite.ts'
export type { CallsRun, RunCalls } from './core/run-calls.ts'
export { textOf } from './core/text.ts'
export {
  type Advisor,
  advised,
  type Emit,
  extend,
  type Guard,
  guarded,
  type Log,
  type Model,
  type RequestInfo,
  type Run,
  revise,
  type ToolResult,
  type Turn
} from './core/turn.ts'
export { addUsage } from './core/usage.ts'
export { withUsageOf } from './core/with-usage-of.ts'
export { type LawBroken, type LawOptions, laws, type Subject, type TriedPlugin } from './laws/laws.ts'
export { type AdvisorPlugin, defineAdvisor } from './plugins/define-advisor.ts'
export { defineGuard, type GuardPlugin } from './plugins/define-guard.ts'
export { defineLoop, type LoopPlugin } from './plugins/define-loop.ts'
export { type CodeTool, defineTool, type ToolContext, type ToolPlugin } from './plugins/define-tool.ts'
export {
  type BuiltIndex,
  defineToolIndex,
  type IndexContext,
  type ToolIndexPlugin
} from './plugins/define-tool-index.ts'
export { defineToolSource, type SourceContext, type ToolSourcePlugin } from './plugins/define-tool-source.ts'
export type { OptionsSchema } from './plugins/options-schema.ts'
export type { Ask, PluginServices } from './plugins/services.ts'
