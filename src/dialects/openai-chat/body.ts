/** The OpenAI chat completions dialect: bodies in, bodies and frames out. Pure functions; no HTTP here. */

/** A request body as validated at the edge: only what the gateway reads is typed, the rest passes unread. */
export interface ChatBody {
  readonly model?: string | null | undefined
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly WireTool[] | null | undefined
  readonly tool_choice?: unknown
  /** Deprecated forms of `tools` and `tool_choice`. */
  readonly functions?: readonly WireFunction[] | null | undefined
  readonly function_call?: unknown
  readonly stream?: boolean | null | undefined
  readonly stream_options?: { readonly include_usage?: boolean | null | undefined } | null | undefined
  readonly n?: number | null | undefined
  readonly session_id?: unknown
  readonly conversation?: unknown
  readonly metadata?: unknown
  readonly loopgate?: unknown
  readonly [field: string]: unknown
}

export interface WireMessage {
  readonly role: 'developer' | 'system' | 'user' | 'assistant' | 'tool' | 'function'
  readonly content?: string | readonly WirePart[] | null | undefined
  readonly tool_calls?: readonly WireCall[] | null | undefined
  readonly tool_call_id?: string | null | undefined
  readonly function_call?: { readonly name: string; readonly arguments?: unknown } | null | undefined
  readonly name?: string | null | undefined
  readonly [field: string]: unknown
}

export interface WirePart {
  readonly type: string
  readonly [field: string]: unknown
}

export interface WireCall {
  readonly id?: string | null | undefined
  readonly type?: string | null | undefined
  readonly function?: { readonly name: string; readonly arguments?: unknown } | null | undefined
  readonly [field: string]: unknown
}

export interface WireTool {
  readonly type: string
  readonly function?: WireFunction | null | undefined
  readonly [field: string]: unknown
}

export interface WireFunction {
  readonly name: string
  readonly description?: string | null | undefined
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined
  readonly [field: string]: unknown
}
