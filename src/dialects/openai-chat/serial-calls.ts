import type { Delta, Fields, ToolCall } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { encodeCall } from './encode.ts'

type CallDelta = Extract<Delta, { type: 'call' }>

interface Begun {
  id: string
  name: string
  arguments: string
  extra?: Fields
}

/** The Node SDK takes no index above 127. */
const MAX_CALLS = 128

/**
 * Brings the pieces of calls, which may come mixed, into the one order readers take: one call after another, each
 * with its id and name once (W6). The first call goes out as it comes; the next begins when the one before is over,
 * which its arguments show (a whole JSON object), or the end of the answer.
 */
export class SerialCalls {
  readonly #chunk: (delta: string) => string
  readonly #begun = new Map<number, Begun>()
  /** The call that goes out as it comes, by its index in the pieces. */
  #live: number | undefined
  /** Calls sent or begun so far: their indexes on the wire. */
  readonly #sent: number[] = []
  #isBroken = false

  constructor(chunk: (delta: string) => string) {
    this.#chunk = chunk
  }

  add(delta: CallDelta): string {
    const call = this.#begun.get(delta.index)
    if (call === undefined) return this.#begin(delta)
    call.id ||= delta.id ?? ''
    call.name ||= delta.name ?? ''
    call.arguments += delta.arguments
    if (delta.extra) call.extra = { ...call.extra, ...delta.extra }

    if (delta.index === this.#live) return delta.arguments === '' ? '' : this.#more(delta.arguments)
    if (this.#sent.includes(delta.index)) {
      // The call was over: a whole object stood there. Only white space can follow one.
      this.#isBroken ||= delta.arguments.trim() !== ''
      return ''
    }
    return this.#advance()
  }

  /** All that has not gone out, one call after another. `calls` is the answer's own list. */
  end(calls: readonly ToolCall[]): string {
    if (this.#isBroken) throw invalid('The upstream went on with a tool call after its arguments were complete.')
    if (calls.length > MAX_CALLS) throw invalid(`The upstream made more than ${MAX_CALLS} tool calls at once.`)
    const waiting = [...this.#begun.keys()].filter(index => !this.#sent.includes(index))
    return waiting.map(index => this.#whole(index, calls)).join('')
  }

  #begin(delta: CallDelta): string {
    const { index, id = '', name = '', arguments: text, extra } = delta
    this.#begun.set(index, { id, name, arguments: text, ...(extra && { extra }) })
    return this.#advance()
  }

  /** Makes the next call the live one, when the live one is over and the next can be named. */
  #advance(): string {
    if (this.#live !== undefined) {
      if (!isWhole(this.#begun.get(this.#live)?.arguments)) return ''
      this.#live = undefined
    }
    const next = [...this.#begun].find(([index]) => !this.#sent.includes(index))
    if (next === undefined) return ''
    const [index, call] = next
    const isNamed = call.id !== '' && call.name !== ''
    if (!isNamed || call.extra?.type === 'custom' || this.#sent.length >= MAX_CALLS) return ''
    this.#live = index
    const at = this.#sent.push(index) - 1
    const head = { index: at, ...encodeCall({ ...call, arguments: '' }) }
    const rest = call.arguments === '' ? '' : this.#more(call.arguments)
    return this.#chunk(JSON.stringify({ tool_calls: [head] })) + rest
  }

  #more(text: string): string {
    const at = this.#sent.length - 1
    return this.#chunk(`{"tool_calls":[{"index":${at},"function":{"arguments":${JSON.stringify(text)}}}]}`)
  }

  #whole(index: number, calls: readonly ToolCall[]): string {
    const begun = this.#begun.get(index)
    // The answer's list is in the order of the indexes, and knows ids that had to be given.
    const order = [...this.#begun.keys()].sort((a, b) => a - b)
    const call = calls[order.indexOf(index)] ?? begun
    if (call === undefined) return ''
    const at = this.#sent.push(index) - 1
    return this.#chunk(JSON.stringify({ tool_calls: [{ index: at, ...encodeCall(call) }] }))
  }
}

function isWhole(text: string | undefined): boolean {
  if (!text?.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function invalid(sentence: string): GatewayError {
  return new GatewayError('upstream_invalid_response', sentence)
}
