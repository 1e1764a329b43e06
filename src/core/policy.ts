/** What a key, a model and the request together allow. The edge resolves it once; nobody widens it. */
export interface Policy {
  readonly limits: Limits
  /** `manual`: calls of gateway tools go to the client, and nothing runs by itself (contract §4.7). */
  readonly toolExecution: 'auto' | 'manual'
  readonly preamble: 'show' | 'hide'
  readonly toolSearch: ToolSearchPolicy
  readonly memory: MemoryPolicy
  readonly structuredOutput: StructuredOutputPolicy
  /** Calls of one turn that may run at once. */
  readonly maxParallel: number
}

/** Per turn, over all its HTTP requests. -1 switches a limit off (contract §4.3). */
export interface Limits {
  readonly maxCallsPerTool: number
  readonly perTool: Readonly<Record<string, number>>
  /** Globs or names: no per-tool and no identical-call limit. */
  readonly exemptTools: readonly string[]
  readonly maxCalls: number
  readonly maxIdenticalCalls: number
  readonly maxRounds: number
  readonly maxTurnMs: number
  /** Prompt and completion tokens of all rounds. Absent: no limit. */
  readonly maxTokens?: number
  /** Micro-dollars that the model calls of all rounds may cost. Absent: no limit. */
  readonly maxCostMicros?: number
  /** `call`: calls before the breach in the batch run. `batch`: if one would breach, none runs. */
  readonly limitCheck: 'call' | 'batch'
  readonly onLimit: OnLimit
}

/**
 * What a refused call does to its turn. `stop`: ends it with the text of the limit. `tell_model`: the call gets the text
 * as its result, the loop goes on. `force_answer`: likewise, but the model is asked once more only, and may not call.
 */
export type OnLimit = 'stop' | 'tell_model' | 'force_answer'

export interface ToolSearchPolicy {
  readonly mode: 'auto' | 'on' | 'off'
  /** As configured or asked for: results of a search and its cap. Absent: 5, and the model may ask for 1 to 10. */
  readonly maxResults?: number
  readonly maxResultsLimit?: number
  readonly accumulate: boolean
}

export interface MemoryPolicy {
  /** Resolved: `auto` has become one of the two. */
  readonly mode: 'on' | 'off'
  readonly recall: 'answers' | 'all'
  readonly window: { readonly maxTurns?: number; readonly maxMessages?: number; readonly maxTokens?: number }
}

export interface StructuredOutputPolicy {
  /** How often an answer that breaks its format is asked for again. */
  readonly maxRetries: number
  /** After that. `return`: the last answer is given, and said to be invalid. `fail`: the turn fails. */
  readonly onExhausted: 'return' | 'fail'
}
