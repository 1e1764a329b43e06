/** A loop case as its file says it: scripted model answers and tool results, and what another loop made of them. */
import type { Fields } from '../fields.ts'
import type { Expectation } from './expectation.ts'

export interface LoopCase {
  readonly id: string
  readonly config: LoopConfig
  /** Definitions in order; two of one name are the first and second definition of it. */
  readonly tools: readonly LoopTool[]
  readonly turns: readonly LoopTurn[]
  /** The order of found tools was left open where the case was recorded. */
  readonly isOrderOpen: boolean
  readonly mode: 'recorded' | 'call' | 'stream'
  /** The recorded values as mapped by contract §16, with those of the expectations in their place. */
  readonly expected: Expectation
  /** The texts of its files, from which `expected` was made. */
  readonly source: LoopSource
}

export interface LoopSource {
  readonly fixture: Fields
  /** `{adopt, ours, expect}` of the file of expectations; absent when it has none for this case. */
  readonly overlay?: Fields
}

export interface LoopConfig {
  readonly system?: string
  readonly sessionId?: string
  readonly stream?: boolean
  readonly memory?: { readonly placement: 'inside' | 'outside'; readonly maxMessages?: number }
  readonly limits?: {
    readonly maxCallsPerTool?: number
    readonly perTool?: Readonly<Record<string, number>>
    readonly excludedTools?: readonly string[]
    readonly maxTotalToolCalls?: number
    readonly onLimitExceeded?: 'THROW' | 'RETURN_ERROR_RESPONSE'
  }
  readonly toolSearch?: {
    readonly index?: 'regex' | 'lucene'
    readonly systemSuffix?: string
    readonly maxResults?: number
    readonly accumulate?: boolean
    readonly lruMaxSessions?: number
    readonly advisorPerRequest?: boolean
  }
  readonly autoToolExecution?: boolean
  readonly structuredOutput?: { readonly schema: Fields; readonly maxRetries?: number; readonly placement?: string }
  readonly entity?: string
  readonly augment?: { readonly field: string; readonly removeAfterProcessing?: boolean }
  readonly toolChoice?: unknown
  readonly extraToolAdvisors?: number
}

export interface LoopTool {
  readonly name: string
  readonly description: string
  readonly parameters: Fields
  readonly returnDirect?: boolean
}

export interface LoopTurn {
  readonly user: string
  readonly stream?: boolean
  readonly sessionId?: string
  readonly system?: string
  readonly history?: readonly Fields[]
  readonly modelScript: readonly ScriptEntry[]
  /** By tool, one a call, the last again when they are used up. */
  readonly toolResults: Readonly<Record<string, readonly unknown[]>>
  /** Names of the attached tools; `name#1` = the second definition of that name. */
  readonly tools?: readonly string[]
  readonly evictBefore?: string
  readonly cancelAfterChunks?: number
  readonly userControl?: { readonly decisions: readonly string[] }
}

/** A completion, `{sse, abort?}`, `{status, body?}`, or `{text, usage}` of the expectations. */
export type ScriptEntry = Fields

/** Is every request of this turn streamed? */
export function isStreamed({ config, mode }: LoopCase, turn: LoopTurn): boolean {
  return mode === 'recorded' ? (turn.stream ?? config.stream ?? false) : mode === 'stream'
}

/** Settings that the runner knows; a case with another one cannot be driven. */
export const KNOWN: Readonly<Record<'config' | 'turn', readonly string[]>> = {
  config: [
    'system',
    'sessionId',
    'stream',
    'memory',
    'limits',
    'toolSearch',
    'autoToolExecution',
    'structuredOutput',
    'entity',
    'augment',
    'toolChoice',
    'extraToolAdvisors'
  ],
  turn: [
    'user',
    'stream',
    'sessionId',
    'system',
    'history',
    'modelScript',
    'toolResults',
    'tools',
    'evictBefore',
    'cancelAfterChunks',
    'userControl',
    'requestsSeen',
    'callerSaw',
    'toolCallsExecuted',
    'memoryAfter',
    'toolIndexOps',
    'augmentedArgumentsSeen'
  ]
}
