import type { Fields, Message, Tool } from '../../core/chat.ts'
import type { ChatBody } from './body.ts'
import { decodeMessages, type UnmatchedResult } from './decode-messages.ts'
import { decodeTools } from './decode-tools.ts'
import { without } from './fields.ts'

/** A chat completion request in the gateway's own terms. */
export interface ChatRequest {
  /** As the client named it; absent: the default model. */
  readonly model: string | undefined
  /** In the client's order, under fresh ids. */
  readonly messages: readonly Message[]
  /** Results whose call does not stand in the request: they may answer one that is open in the session. */
  readonly unmatched: readonly UnmatchedResult[]
  readonly clientTools: ReadonlyMap<string, Tool>
  /** Every field that is not spoken of here, for the upstream. */
  readonly params: Fields
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The `loopgate` object as sent. */
  readonly loopgate: unknown
  /** Where the body may name the session, first found wins; unchecked. */
  readonly sessionIds: readonly unknown[]
}

/** Fields that are the gateway's, or that have a place of their own in the prompt. */
const NOT_PARAMS = new Set([
  'model',
  'messages',
  'tools',
  'functions',
  'function_call',
  'stream',
  'stream_options',
  'session_id',
  'conversation',
  'loopgate'
])

/**
 * Body → request (contract §2.3, spec/wire.md §2.1). `newId` mints message ids. Throws `invalid_request` or
 * `tool_name_conflict` naming the field.
 */
export function decode(body: ChatBody, newId: () => string): ChatRequest {
  const { messages, unmatched } = decodeMessages(body.messages, newId)
  return {
    model: body.model || undefined,
    messages,
    unmatched,
    clientTools: decodeTools(body),
    params: paramsOf(body),
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    loopgate: body.loopgate ?? undefined,
    sessionIds: sessionIdsOf(body)
  }
}

function paramsOf(body: ChatBody): Fields {
  const params = without(body, NOT_PARAMS) ?? {}
  const choice = body.function_call
  if (choice === undefined || choice === null || body.tool_choice !== undefined) return params
  const name = (choice as { name?: unknown }).name
  return { ...params, tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name } } }
}

function sessionIdsOf({ session_id, metadata, conversation }: ChatBody): readonly unknown[] {
  const inMetadata = (metadata as { session_id?: unknown } | null | undefined)?.session_id
  const named =
    typeof conversation === 'object' && conversation !== null ? (conversation as { id?: unknown }).id : conversation
  return [session_id ?? undefined, inMetadata ?? undefined, named ?? undefined]
}
