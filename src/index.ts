/** What the package offers to those who write advisors and guards: the types of a turn, and the laws to test against. */

export { Assembly } from './core/assemble.ts'
export type * from './core/chat.ts'
export { ERRORS, type ErrorCode, type ErrorDetail, GatewayError } from './core/errors.ts'
export type { TurnEvent } from './core/events.ts'
export type { Limits, MemoryPolicy, Policy, ToolSearchPolicy } from './core/policy.ts'
export type { Principal, Session } from './core/principal.ts'
export { replay } from './core/replay.ts'
export { type Rewriter, rewrite } from './core/rewrite.ts'
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
export { type LawBroken, type LawOptions, laws, type Subject } from './laws/laws.ts'
