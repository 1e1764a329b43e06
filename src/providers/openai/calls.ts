import type { Delta, Fields, ToolCall } from '../../core/chat.ts'
import { randomText } from '../../core/ids.ts'
import { isFields } from '../../core/is-fields.ts'
import { mergeFields } from './merge-fields.ts'

type CallDelta = Extract<Delta, { type: 'call' }>

interface OpenCall {
  readonly index: number
  id: string
  name: string
  arguments: string
  extra: Fields | undefined
  /** Its first piece was sent on. */
  begun: boolean
  custom: boolean
}

const READ = new Set(['index', 'id', 'type', 'function', 'custom'])

/**
 * Puts the tool calls of one answer together, whatever indexes and ids the provider gives them: the seven rules of
 * spec/wire.md §2.3.7, in their order.
 */
export class CallReader {
  readonly #emit: (delta: CallDelta) => void
  readonly #calls: OpenCall[] = []
  readonly #byIndex = new Map<number, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  #last: OpenCall | undefined
  /** The last call took over an index that was in use, so a tail may come under the next one. */
  #lastTookOver = false

  /** `emit` gets the pieces: the first of a call has its id and name, and what came before the name. */
  constructor(emit: (delta: CallDelta) => void) {
    this.#emit = emit
  }

  /** Reads a `tool_calls` list. In a `whole` one each entry is a call of its own, at its place in the list. */
  read(entries: unknown, whole: boolean): void {
    if (!Array.isArray(entries)) return
    for (const entry of entries) {
      if (!isFields(entry)) continue
      const call = whole ? this.#open(given(entry.id)) : this.#callOf(entry)
      this.#add(call, entry)
    }
  }

  /** The calls, in the order in which they were opened. `undefined` when one of them has no name. */
  end(): readonly ToolCall[] | undefined {
    const real = this.#calls.filter(call => call.name !== '' || call.arguments !== '')
    if (real.some(call => call.name === '')) return undefined
    return real.map(call => {
      call.id ||= mintId()
      if (call.custom)
        call.extra = { ...call.extra, type: 'custom', custom: { name: call.name, input: call.arguments } }
      if (!call.begun) this.#emit(pieceOf(call, call.arguments, call.extra, true))
      const { id, name, extra } = call
      return { id, name, arguments: call.arguments, ...(extra && { extra }) }
    })
  }

  #callOf(entry: Fields): OpenCall {
    const id = given(entry.id)
    const index = indexOf(entry.index)
    if (index === undefined) return this.#callWithoutIndex(id, entry)

    const known = this.#byIndex.get(index)
    if (known !== undefined) {
      if (id === undefined || known.id === '' || known.id === id) return known
      const other = this.#byId.get(id)
      if (other !== undefined) return other
      return this.#open(id, index, true)
    }
    if (id === undefined && nameOf(entry) === '' && this.#lastTookOver && this.#last !== undefined) {
      this.#byIndex.set(index, this.#last)
      this.#lastTookOver = false
      return this.#last
    }
    return this.#open(id, index)
  }

  #callWithoutIndex(id: string | undefined, entry: Fields): OpenCall {
    if (id !== undefined) return this.#byId.get(id) ?? this.#open(id)
    const last = this.#last
    if (last === undefined || this.#isAnother(last, entry)) return this.#open(undefined)
    return last
  }

  /** Without index and id, only the names tell calls apart: another name, or the same one after complete arguments. */
  #isAnother(last: OpenCall, entry: Fields): boolean {
    const name = nameOf(entry)
    if (name === '' || last.name === '') return false
    if (name !== last.name) return true
    return argumentsOf(entry) !== '' && isObjectText(last.arguments)
  }

  #open(id: string | undefined, index?: number, tookOver = false): OpenCall {
    const call: OpenCall = {
      index: this.#calls.length,
      id: id ?? '',
      name: '',
      arguments: '',
      extra: undefined,
      begun: false,
      custom: false
    }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, call)
    this.#last = call
    this.#lastTookOver = tookOver
    return call
  }

  #add(call: OpenCall, entry: Fields): void {
    const id = given(entry.id)
    if (id !== undefined) {
      // A first id that comes after the call has begun under ours only serves to find the call again.
      if (!call.begun) call.id ||= id
      if (!this.#byId.has(id)) this.#byId.set(id, call)
    }
    call.name ||= nameOf(entry)
    if (entry.type === 'custom' || isFields(entry.custom)) call.custom = true
    const text = argumentsOf(entry)
    call.arguments += text
    const extra = extraOf(entry)
    if (extra !== undefined) call.extra = mergeFields(call.extra, extra)

    if (call.custom || (!call.begun && call.name === '')) return
    if (!call.begun) {
      call.begun = true
      call.id ||= mintId()
      this.#emit(pieceOf(call, call.arguments, call.extra, true))
    } else if (text !== '' || extra !== undefined) this.#emit(pieceOf(call, text, extra, false))
  }
}

function pieceOf(call: OpenCall, text: string, extra: Fields | undefined, head: boolean): CallDelta {
  const names = head ? { id: call.id, name: call.name } : {}
  return { type: 'call', index: call.index, ...names, arguments: text, ...(extra && { extra }) }
}

/** Some providers write that there is no id as `""` or `"null"`. */
function given(id: unknown): string | undefined {
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && id !== '' && id !== 'null' ? id : undefined
}

function indexOf(index: unknown): number | undefined {
  const number = typeof index === 'string' && /^\d{1,4}$/.test(index) ? Number(index) : index
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
}

function bodyOf(entry: Fields): Fields {
  if (isFields(entry.function)) return entry.function
  return isFields(entry.custom) ? entry.custom : {}
}

function nameOf(entry: Fields): string {
  const { name } = bodyOf(entry)
  return typeof name === 'string' ? name : ''
}

function argumentsOf(entry: Fields): string {
  const body = bodyOf(entry)
  const value = body.arguments ?? body.input
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function extraOf(entry: Fields): Fields | undefined {
  let extra: Record<string, unknown> | undefined
  for (const key in entry) {
    if (READ.has(key) || entry[key] === null || entry[key] === undefined) continue
    extra ??= {}
    extra[key] = entry[key]
  }
  return extra
}

function isObjectText(text: string): boolean {
  try {
    return isFields(JSON.parse(text))
  } catch {
    return false
  }
}

function mintId(): string {
  return `call_${randomText(26)}`
}
