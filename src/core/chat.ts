/** The one form a conversation has inside the gateway. Dialects decode into it, providers encode from it. */
import type { HeldCall } from './held-calls.ts'
import type { Breach, Run } from './turn.ts'

/** Text, or parts in the order the author wrote them. */
export type Content = string | readonly Part[]

export type Part =
  | { readonly type: 'text'; readonly text: string; readonly extra?: Fields }
  /** A part the gateway forwards without reading (image, audio, file), as OpenAI chat completions spells it. */
  | { readonly type: 'other'; readonly value: Fields }

/** Fields that the gateway carries without reading them, spelled as in OpenAI chat completions. */
export type Fields = Readonly<Record<string, unknown>>

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

interface Common {
  /** Unique in the conversation; minted here, never shown to a client. */
  readonly id: string
  /** Every other field the author wrote, e.g. `name`. */
  readonly extra?: Fields
  /** `client`: came in as history, so its words are not the gateway's own record. */
  readonly origin?: 'client'
}

export interface SystemMessage extends Common {
  readonly role: 'system'
  readonly content: Content
  /** Set when the client wrote `developer`, which means the same and is sent on as written. */
  readonly developer?: true
}

export interface UserMessage extends Common {
  readonly role: 'user'
  readonly content: Content
}

export interface AssistantMessage extends Common {
  readonly role: 'assistant'
  /** `''` when the model said nothing beside its calls. */
  readonly content: Content
  readonly calls: readonly ToolCall[]
  /** Reasoning meant for reading, and the field it stood in (`reasoning_content`, `reasoning`). */
  readonly reasoning?: { readonly text: string; readonly field: string }
  readonly refusal?: string
  /** How the author spelled an empty content; absent: ours to choose (`null` beside calls). */
  readonly empty?: 'null' | 'absent' | 'text'
  /** Blocks only their own provider understands (signed reasoning), replayed to it untouched. */
  readonly native?: { readonly provider: string; readonly blocks: unknown }
}

export interface ToolMessage extends Common {
  readonly role: 'tool'
  readonly callId: string
  readonly content: Content
  /** The call was refused, failed, or did not run. */
  readonly isError?: true
  /** Nothing ran; `breach`: because of this limit. What a client says of its own calls never has it. */
  readonly unrun?: { readonly breach?: Breach }
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** The JSON text exactly as the model wrote it; it may not parse. */
  readonly arguments: string
  /** Fields beside `id`, `type`, `function`, e.g. `extra_content`; for a custom tool the whole call. */
  readonly extra?: Fields
}

/** What the model is shown. */
export interface Prompt {
  /** The model's name: the client's until routing replaces it by the provider's. */
  readonly model: string
  readonly messages: readonly Message[]
  /** In the order the model sees them; a `Map` keeps it. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Sampling and all other settings of the request, spelled as in OpenAI chat completions. */
  readonly params: Fields
}

export interface Tool {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments, 2020-12 or draft-07. Absent: no arguments are declared. */
  readonly parameters?: Fields
  /** Set when `parameters` asks the model for more than the tool takes. */
  readonly augment?: Augment
  readonly kind: 'webhook' | 'mcp' | 'builtin' | 'client'
  /** Absent when the tool is the client's to run. */
  readonly run?: Run
  /** Version of the registration, from 1. */
  readonly version?: number
  readonly group?: string
  /** Offered from the first round on, whatever tool search says. */
  readonly alwaysVisible?: boolean
  /** Never run beside other calls of its batch. */
  readonly sequential?: boolean
  /** Its result is the answer, where that holds for every call of the batch. */
  readonly returnDirect?: boolean
  readonly annotations?: { readonly readOnly?: boolean; readonly destructive?: boolean; readonly idempotent?: boolean }
  /** Calls with the same arguments in one turn; -1 = no limit. Default: the turn's `maxIdenticalCalls`. */
  readonly maxIdenticalCalls?: number
  /** Calls of this tool in one turn; -1 = no limit. Default: the turn's `maxCallsPerTool`. */
  readonly maxCallsPerTurn?: number
  /** The client's own declaration, forwarded as written. */
  readonly declared?: Fields
}

/** Arguments that the gateway asks the model for beside a tool's own (contract §4.6). */
export interface Augment {
  /** JSON Schema of the tool's own arguments. Absent: it declares none. */
  readonly own?: Fields
  /** Names of the fields that were added. */
  readonly fields: readonly string[]
}

/** What came of a turn. */
export interface Answer {
  /** What the client gets. */
  readonly message: AssistantMessage
  /**
   * Everything the turn added to the conversation, in order; the last assistant message is `message`. Where `held` is
   * set it has the gateway's calls too, and the results of those that ran stand behind it.
   */
  readonly messages: readonly Message[]
  readonly finish: Finish
  /** The word that the last model call ended with, as its provider wrote it; absent when it wrote none. */
  readonly finishReason?: string
  /** Of every model call below, added up; absent when none reported any. */
  readonly usage?: Usage
  /** The tools that the last model call was shown; only these can be called. */
  readonly offered: ReadonlyMap<string, Tool>
  /** Set when a limit ended the turn, or made the model answer without calling more. */
  readonly limit?: LimitHit
  /** Results that were there when a limit ended the turn, in call order. */
  readonly partialResults?: readonly PartialResult[]
  /** The calls whose results are the answer, in order; only with the finish `return_direct`. */
  readonly direct?: readonly Pick<PartialResult, 'id' | 'name'>[]
  /** What OpenAI puts beside the message, of the last model call. */
  readonly choice?: Choice
  /**
   * The calls of the last message, where the client is to go on with them and does not know all that the gateway did or
   * may do for it (contract §4.5, §4.7): they have to be in the store before the answer leaves.
   */
  readonly held?: readonly HeldCall[]
  /** Set when the answer was checked against the format that the request wants. */
  readonly structured?: Structured
}

/** What came of checking an answer (contract §4.8). */
export interface Structured {
  readonly valid: boolean
  /** Answers that were checked, this one included. */
  readonly attempts: number
  /** What is wrong with this one, as path and rule. */
  readonly errors: readonly string[]
}

export interface Choice {
  readonly logprobs?: unknown
  /** Choices 1, 2, … of an `n > 1` request, as the provider spelled them. */
  readonly others?: readonly Fields[]
  /** `system_fingerprint`, `service_tier`, `moderation` and the like. */
  readonly fields?: Fields
}

/** Why the turn ended; the dialects translate it (contract §4.4). */
export type Finish =
  | 'stop'
  | 'return_direct'
  | 'length'
  | 'content_filter'
  | 'client_calls'
  | 'awaiting_approval'
  | 'tool_call_limit'
  | 'identical_calls'
  | 'round_limit'
  | 'token_limit'
  | 'cost_limit'
  | 'time_limit'

export interface LimitHit {
  readonly kind:
    | 'max_calls_per_tool'
    | 'max_calls'
    | 'max_identical_calls'
    | 'max_rounds'
    | 'max_tokens'
    | 'max_cost_usd'
    | 'max_turn_ms'
  readonly tool?: string
  readonly max: number
}

export interface PartialResult {
  readonly id: string
  readonly name: string
  readonly content: string
}

/** Tokens. Details are parts of the totals and absent unless a provider reported them. */
export interface Usage {
  readonly prompt: number
  readonly completion: number
  /** As the provider reported it, else prompt + completion. */
  readonly total: number
  readonly cached?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
  /** Other counters by their path in OpenAI's usage, e.g. `prompt_tokens_details.audio_tokens`. */
  readonly other?: Readonly<Record<string, number>>
}

/** A piece of the answer on its way to the client. */
export type Delta =
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: unknown }
  | { readonly type: 'reasoning'; readonly text: string; readonly field: string; readonly signature?: string }
  | { readonly type: 'refusal'; readonly text: string; readonly logprobs?: unknown }
  /** The first piece of a call carries its id and name; `index` counts the calls of one answer from 0. */
  | {
      readonly type: 'call'
      readonly index: number
      readonly id?: string
      readonly name?: string
      readonly arguments: string
      readonly extra?: Fields
    }
  /** Fields of a message that are forwarded without being read, e.g. `annotations`. */
  | { readonly type: 'fields'; readonly fields: Fields }
