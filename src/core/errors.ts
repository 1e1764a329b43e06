/** Every error a client can meet, in one table (contract §12). Dialects turn a `GatewayError` into bytes. */
import type { Usage } from './chat.ts'

interface Row {
  readonly status: number
  /** `error.type` on OpenAI and all routes of no dialect. */
  readonly openai: string
  readonly anthropic: string
  /** `x-should-retry`; absent = the header is left out. Always `false` once a tool has run in the turn. */
  readonly retry?: boolean
  /** May another attempt, or another target, succeed? Read by retries and fallbacks. */
  readonly transient?: true
}

const invalid = { openai: 'invalid_request_error', anthropic: 'invalid_request_error' }
const denied = { openai: 'permission_error', anthropic: 'permission_error' }
const conflict = { openai: 'conflict_error', anthropic: 'invalid_request_error' }
const upstream = { openai: 'upstream_error', anthropic: 'api_error' }
const away = { openai: 'server_error', anthropic: 'overloaded_error' }

export const ERRORS = {
  invalid_request: { status: 400, ...invalid },
  unsupported_parameter: { status: 400, ...invalid },
  session_required: { status: 400, ...invalid },
  session_id_invalid: { status: 400, ...invalid },
  tool_name_conflict: { status: 400, ...invalid },
  context_length_exceeded: { status: 400, ...invalid },
  guardrail_blocked: { status: 400, ...invalid },
  invalid_api_key: { status: 401, openai: 'invalid_request_error', anthropic: 'authentication_error' },
  key_expired: { status: 401, openai: 'invalid_request_error', anthropic: 'authentication_error' },
  key_disabled: { status: 401, openai: 'invalid_request_error', anthropic: 'authentication_error' },
  model_not_allowed: { status: 403, ...denied },
  role_required: { status: 403, ...denied },
  origin_denied: { status: 403, ...denied },
  not_found: { status: 404, openai: 'invalid_request_error', anthropic: 'not_found_error' },
  model_not_found: { status: 404, openai: 'invalid_request_error', anthropic: 'not_found_error' },
  method_not_allowed: { status: 405, ...invalid },
  unsupported_media_type: { status: 415, ...invalid },
  session_busy: { status: 409, ...conflict, retry: true },
  idempotency_in_progress: { status: 409, ...conflict, retry: true },
  tool_name_taken: { status: 409, ...conflict, retry: false },
  declared_in_file: { status: 409, ...conflict, retry: false },
  turn_ended: { status: 409, ...conflict, retry: false },
  turn_cancelled: { status: 409, ...conflict, retry: false },
  call_not_open: { status: 409, ...conflict, retry: false },
  gone: { status: 410, openai: 'invalid_request_error', anthropic: 'not_found_error' },
  version_conflict: { status: 412, ...conflict },
  request_too_large: { status: 413, openai: 'invalid_request_error', anthropic: 'request_too_large' },
  tool_url_rejected: { status: 422, ...invalid },
  schema_rejected: { status: 422, ...invalid },
  tool_rejected: { status: 422, ...invalid },
  credential_must_be_resupplied: { status: 422, ...invalid },
  config_invalid: { status: 422, ...invalid },
  idempotency_mismatch: { status: 422, ...invalid },
  /** A model or tool of the turn was told to stop by the client's leaving; only ever in the run view and metrics. */
  client_closed: { status: 499, ...invalid },
  upstream_rate_limited: {
    status: 429,
    openai: 'rate_limit_error',
    anthropic: 'rate_limit_error',
    retry: true,
    transient: true
  },
  /** An upstream 4xx that is the caller's to mend; its own status and message are passed on, cleaned. */
  upstream_rejected: { status: 400, ...invalid },
  internal: { status: 500, openai: 'server_error', anthropic: 'api_error' },
  upstream_error: { status: 502, ...upstream, transient: true },
  upstream_invalid_response: { status: 502, ...upstream },
  upstream_disconnected: { status: 502, ...upstream, transient: true },
  upstream_credentials: { status: 502, ...upstream, retry: false },
  tool_failed: { status: 502, ...upstream, retry: false },
  output_invalid: { status: 502, ...upstream, retry: false },
  upstream_overloaded: {
    status: 503,
    openai: 'upstream_error',
    anthropic: 'overloaded_error',
    retry: true,
    transient: true
  },
  no_target: { status: 503, openai: 'upstream_error', anthropic: 'overloaded_error', retry: true },
  overloaded: { status: 503, ...away, retry: true },
  shutting_down: { status: 503, ...away, retry: true },
  store_unavailable: { status: 503, ...away, retry: true },
  upstream_timeout: { status: 504, openai: 'upstream_error', anthropic: 'timeout_error', transient: true },
  loop_detected: { status: 508, ...invalid, retry: false }
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof ERRORS

export interface ErrorDetail {
  /** The request field that is wrong, e.g. `messages[2].tool_call_id`. */
  readonly param?: string
  readonly reason?: string
  readonly phase?: 'connect' | 'first_byte' | 'idle' | 'total'
  readonly provider?: string
  readonly upstreamStatus?: number
  /** From the upstream's `retry-after`, in milliseconds. */
  readonly retryAfterMs?: number
  /** Holds over the table's: an upstream's own 4xx. */
  readonly status?: number
  /** Shown as `error.code` in place of ours: an upstream's own word. */
  readonly shownCode?: string
  /** Holds over the table's: is another attempt of use? */
  readonly transient?: boolean
  /** What the failed model call is known to have used; it is paid for all the same. */
  readonly usage?: Usage
  readonly cause?: unknown
}

/** The only error a client is told about. The message is a whole sentence that says what to do where that is known. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly detail: ErrorDetail

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.code = code
    this.detail = detail
  }

  get row(): Row {
    return ERRORS[this.code]
  }

  get status(): number {
    return this.detail.status ?? this.row.status
  }

  get transient(): boolean {
    return this.detail.transient ?? this.row.transient === true
  }
}

/** What a client is told of an error we did not expect: nothing but that it is ours. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('internal', 'The gateway failed to handle this request; the log has the cause.', {
    cause: error
  })
}
