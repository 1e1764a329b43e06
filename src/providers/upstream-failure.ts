import type { Fields } from '../core/chat.ts'
import { cleanMessage } from '../core/clean-message.ts'
import { type ErrorCode, type ErrorDetail, GatewayError } from '../core/errors.ts'
import { isFields } from '../core/is-fields.ts'

/** What a provider said when it failed. */
export interface SaidFailure {
  /** The provider's name. */
  readonly name: string
  /** The HTTP status; absent when the failure stands inside an answer of status 200. */
  readonly status?: number
  readonly retryAfterMs?: number | undefined
  /** The body or the event, parsed; anything else when it is not JSON. */
  readonly body: unknown
}

const CONTEXT_LENGTH = /context[ _-]?(?:length|window)|maximum context|prompt is too long/i
const OWN_WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/

/**
 * The error that a provider's failure is to the client (contract §12). What is the caller's to mend keeps its status
 * and its message, cleaned; credentials are ours; the text of a 5xx is never shown.
 */
export function upstreamFailure(said: SaidFailure): GatewayError {
  return ofStatus(said, said.status ?? statusInside(said.body), messageOf(said.body))
}

/** A failure inside a 200 takes the status in its body if that is 400 to 599, else 502. */
function statusInside(body: unknown): number | undefined {
  const error = isFields(body) && isFields(body.error) ? body.error : {}
  const outer = isFields(body) ? body : {}
  for (const value of [error.status, error.code, outer.status, outer.code, outer.error_code]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return undefined
}

function ofStatus(said: SaidFailure, status: number | undefined, message: string | undefined): GatewayError {
  const { name, retryAfterMs, body } = said
  const fail = (code: ErrorCode, text: string, more: ErrorDetail = {}): GatewayError => {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
    return new GatewayError(code, text, {
      provider: name,
      ...(status !== undefined && { upstreamStatus: status }),
      ...wait,
      ...more
    })
  }
  switch (status) {
    case undefined:
      return fail('upstream_error', message ?? `The provider ${name} reported an error.`)
    case 401:
    case 402:
    case 403:
      return fail(
        'upstream_credentials',
        `The provider ${name} refused the gateway's own credentials; its operator must check key and account.`
      )
    case 429:
      return fail('upstream_rate_limited', message ?? `The provider ${name} has too many requests; try again later.`)
    case 503:
    case 529:
      return fail('upstream_overloaded', `The provider ${name} is overloaded; try again later.`)
    case 400:
    case 404:
    case 413:
    case 422:
      return rejected(fail, { name, status, body, message })
    case 408:
    case 409:
    case 425:
      return fail('upstream_error', `The provider ${name} could not take the request now (status ${status}).`)
  }
  if (status >= 500) return fail('upstream_error', `The provider ${name} failed with status ${status}.`)
  const text = `The provider ${name} answered with status ${status}; its operator must check base_url and model.`
  return fail('upstream_error', text, { transient: false })
}

interface Rejection {
  readonly name: string
  readonly status: number
  readonly body: unknown
  readonly message: string | undefined
}

function rejected(
  fail: (code: ErrorCode, text: string, more?: ErrorDetail) => GatewayError,
  { name, status, body, message }: Rejection
): GatewayError {
  const text = message ?? `The provider ${name} refused the request with status ${status}.`
  const word = codeOf(body)
  const param = isFields(body) && isFields(body.error) ? body.error.param : undefined
  // Servers written in Python say None for "no field".
  const isField = typeof param === 'string' && param !== 'None' && /^[\w.[\]-]{1,100}$/.test(param)
  const where = isField ? { param } : {}
  if (word === 'context_length_exceeded' || (message !== undefined && CONTEXT_LENGTH.test(message))) {
    return fail('context_length_exceeded', text, where)
  }
  return fail('upstream_rejected', text, { status, ...where, ...(word !== undefined && { shownCode: word }) })
}

/** The provider's own code, if it is a word. */
function codeOf(body: unknown): string | undefined {
  const code = isFields(body) ? (isFields(body.error) ? body.error.code : body.code) : undefined
  return typeof code === 'string' && OWN_WORD.test(code) ? code : undefined
}

function messageOf(body: unknown): string | undefined {
  if (!isFields(body)) return undefined
  const { error } = body
  const said = [isFields(error) ? error.message : error, body.error_message, body.message, listed(body)]
  const text = said.find(each => typeof each === 'string' && each !== '')
  return typeof text === 'string' ? cleanMessage(text) : undefined
}

/** `detail` as several Python servers write it: a sentence, or a list of findings. */
function listed({ detail }: Fields): string | undefined {
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return undefined
  return detail.flatMap(each => (isFields(each) && typeof each.msg === 'string' ? [each.msg] : [])).join('; ')
}
