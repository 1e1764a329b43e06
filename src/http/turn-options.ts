import type { IncomingHttpHeaders } from 'node:http'
import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { LoopgateBody } from './loopgate-schema.ts'

/** What a request asks of the gateway itself: its `loopgate` object over its headers (contract §3.2, §3.3). */
export interface TurnOptions {
  /** Gateway tools to attach; absent: as configured. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  readonly toolSearch: { readonly mode?: 'auto' | 'on' | 'off'; readonly maxResults?: number }
  readonly memory: { readonly mode?: 'on' | 'off'; readonly recall?: 'answers' | 'all'; readonly branch?: string }
  readonly structuredOutput: { readonly maxRetries?: number; readonly onExhausted?: 'return' | 'fail' }
  readonly limits: NonNullable<LoopgateBody['limits']>
  readonly context: Fields
  readonly include: ReadonlySet<Include>
  readonly toolExecution?: 'auto' | 'manual'
  readonly preamble?: 'show' | 'hide'
  readonly timeoutMs?: number
  readonly resumable?: boolean
  readonly tags: readonly string[]
  readonly script?: readonly unknown[]
}

export type Include = 'summary' | 'rounds' | 'events'

/** The options of a request that asks for nothing. */
export const NO_OPTIONS: TurnOptions = {
  toolSearch: {},
  memory: {},
  structuredOutput: {},
  limits: {},
  context: {},
  include: new Set(),
  tags: []
}

const HEADERS = ['include', 'tool-execution', 'tool-search', 'memory', 'timeout-ms'] as const
const HEADER_NAMES = HEADERS.map(name => `x-loopgate-${name}`)

/**
 * Reads the object and the headers. Throws `invalid_request` for a header that cannot be read, and
 * `unsupported_parameter` for what the contract names but this version does not do.
 */
export function turnOptions(body: LoopgateBody | undefined, headers: IncomingHttpHeaders): TurnOptions {
  const asked = HEADER_NAMES.some(name => headers[name] !== undefined) ? fromHeaders(headers) : undefined
  if (body === undefined && asked === undefined) return NO_OPTIONS
  const all: LoopgateBody = { ...asked, ...body }
  refuseWhatIsNotThere(all)
  const { tools, tool_search: search, memory } = all
  const { mode, max_results: maxResults } = typeof search === 'object' ? search : { mode: search }
  return {
    ...(tools && { tools: Array.isArray(tools) ? { allow: tools } : withoutAbsent(tools) }),
    toolSearch: { ...(mode && mode !== 'preselect' && { mode }), ...(maxResults !== undefined && { maxResults }) },
    memory: typeof memory === 'object' ? withoutAbsent(memory) : withoutAbsent({ mode: memory }),
    structuredOutput: withoutAbsent({
      maxRetries: all.structured_output?.max_retries,
      onExhausted: all.structured_output?.on_exhausted
    }),
    limits: all.limits ?? {},
    context: all.context ?? {},
    include: new Set(all.include),
    ...(all.tool_execution && { toolExecution: all.tool_execution }),
    ...(all.preamble && { preamble: all.preamble }),
    ...(all.timeout_ms !== undefined && { timeoutMs: all.timeout_ms }),
    ...(all.resumable !== undefined && { resumable: all.resumable }),
    tags: all.tags ?? [],
    ...(all.script && { script: all.script })
  }
}

function fromHeaders(headers: IncomingHttpHeaders): LoopgateBody {
  const include = header(headers, 'include')
    ?.split(',')
    .map(word => oneOf('include', word.trim(), ['summary', 'rounds', 'events'] as const))
  const search = header(headers, 'tool-search')
  const memory = header(headers, 'memory')
  const timeout = header(headers, 'timeout-ms')
  const execution = header(headers, 'tool-execution')
  return {
    ...(include && { include }),
    ...(search && { tool_search: oneOf('tool-search', search, ['auto', 'on', 'off', 'preselect'] as const) }),
    ...(memory && { memory: oneOf('memory', memory, ['on', 'off'] as const) }),
    ...(timeout && { timeout_ms: milliseconds(timeout) }),
    ...(execution && { tool_execution: oneOf('tool-execution', execution, ['auto', 'manual'] as const) })
  }
}

function header(headers: IncomingHttpHeaders, name: (typeof HEADERS)[number]): string | undefined {
  const value = headers[`x-loopgate-${name}`]
  return Array.isArray(value) ? value[0] : value
}

function oneOf<T extends string>(name: string, word: string, allowed: readonly T[]): T {
  const found = allowed.find(each => each === word)
  if (found === undefined) throw badHeader(name, `must be ${allowed.join(', ')}`)
  return found
}

function milliseconds(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > 2_147_483_647) throw badHeader('timeout-ms', 'must be whole ms')
  return Number(text)
}

function badHeader(name: string, rule: string): GatewayError {
  return new GatewayError('invalid_request', `The header x-loopgate-${name} ${rule}.`, { param: `x-loopgate-${name}` })
}

/** Fields of later versions, each with the value that asks for nothing but what is done anyway. */
const LATER = [
  ['approvals', 'auto'],
  ['cache', 'off']
] as const

function refuseWhatIsNotThere(all: LoopgateBody): void {
  for (const [field, ordinary] of LATER) {
    const value = all[field]
    if (value !== undefined && value !== ordinary) throw notThere(field)
  }
  const search = typeof all.tool_search === 'object' ? all.tool_search.mode : all.tool_search
  if (search === 'preselect') throw notThere('tool_search', 'preselect')
}

function notThere(field: string, value?: string): GatewayError {
  const what = value === undefined ? `loopgate.${field} is` : `The value ${value} of loopgate.${field} is`
  return new GatewayError('unsupported_parameter', `${what} not available in this version; leave it out.`, {
    param: `loopgate.${field}`
  })
}

function withoutAbsent<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never
}
