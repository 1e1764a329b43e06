import type { Fields } from './chat.ts'
import type { HeldCall } from './held-calls.ts'
import type { Limits, ToolSearchPolicy } from './policy.ts'
import type { Turn } from './turn.ts'

/** What the request that made calls asked for, as far as running them later depends on it. */
export interface HeldRequest {
  readonly limits: Limits
  /** What tools are told. */
  readonly context: Fields
  readonly toolSearch?: ToolSearchPolicy
  /** It wanted calls to run one by one. */
  readonly isSequential?: true
  /** Names of its gateway tools; kept where a call was not of one of these, but of the search tool for example. */
  readonly attached?: readonly string[]
}

/** `turn` as the request made it, before anything was narrowed. */
export function heldRequest({ policy, request, prompt }: Turn, held: readonly HeldCall[]): HeldRequest {
  const { tools, params } = prompt
  const isOther = ({ tool, runner, state }: HeldCall) =>
    state === 'requested' && runner !== 'client' && !tools.has(tool)
  return {
    limits: policy.limits,
    context: request.context,
    toolSearch: policy.toolSearch,
    ...(params.parallel_tool_calls === false && { isSequential: true }),
    ...(held.some(isOther) && { attached: [...tools.values()].filter(({ run }) => run).map(({ name }) => name) })
  }
}
