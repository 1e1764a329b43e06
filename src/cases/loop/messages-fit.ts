/** Compares messages as contract §16 says: call ids up to renaming, system texts trimmed, JSON by value. */
import { type Fields, fieldsOf, isFields, listOf, stringOf } from '../fields.ts'
import { sameText, sameValue, shown } from '../same-value.ts'
import { contentText, textFits } from './text-fits.ts'

export interface Equality {
  /** Ids that the script or the client gave: they keep their spelling unless one was renamed. */
  readonly givenIds: ReadonlySet<string>
  readonly schema: Fields | undefined
}

/** What differs between two lists of messages; nothing when they are equal. */
export function messagesDiffer(expected: unknown, actual: readonly Fields[], equality: Equality): string | undefined {
  const list = listOf(expected).map(fieldsOf)
  if (list.length !== actual.length) {
    const roles = (messages: readonly Fields[]) => messages.map(({ role }) => role).join(' ')
    return `${actual.length} messages (${roles(actual)}) where ${list.length} (${roles(list)}) were expected`
  }
  const ids = new Ids(equality.givenIds)
  const calls = new Map<unknown, unknown>()
  for (const [at, message] of list.entries()) {
    const seen = actual[at] ?? {}
    const why = messageDiffers(message, seen, { ...equality, ids, calls })
    if (why !== undefined) return `message ${at}, ${why}: ${shown(seen)} where ${shown(message)} was expected`
  }
  return undefined
}

interface InList extends Equality {
  readonly ids: Ids
  /** Names of the calls so far, by the id they have here. */
  readonly calls: Map<unknown, unknown>
}

function messageDiffers(expected: Fields, actual: Fields, list: InList): string | undefined {
  const { role, content, tool_calls, tool_call_id, name, ...others } = expected
  if (role !== actual.role) return 'role'
  const text = contentText(actual.content)
  const fits =
    role === 'system' && typeof content === 'string'
      ? textFits(content.trim(), text.trim(), list.schema)
      : textFits(content, text, list.schema)
  if (!fits) return 'content'
  const why = callsDiffer(listOf(tool_calls).map(fieldsOf), listOf(actual.tool_calls).map(fieldsOf), list)
  if (why !== undefined) return why
  if (role === 'tool' && !list.ids.areSame(tool_call_id, actual.tool_call_id)) return 'tool_call_id'
  // A result has no name of its own here: it is that of its call.
  if (role === 'tool' && name !== undefined && list.calls.get(actual.tool_call_id) !== name) return 'name'
  return Object.entries(others).find(([key, value]) => !sameValue(value, actual[key]))?.[0]
}

function callsDiffer(expected: readonly Fields[], actual: readonly Fields[], list: InList): string | undefined {
  if (expected.length !== actual.length) return 'number of calls'
  list.ids.begin()
  for (const [at, call] of expected.entries()) {
    const seen = plainCall(actual[at] ?? {})
    const want = plainCall(call)
    if (!list.ids.bind(want.id, seen.id)) return `id of call ${at}`
    if (want.name !== seen.name) return `name of call ${at}`
    if (!sameText(want.arguments, seen.arguments)) return `arguments of call ${at}`
    list.calls.set(seen.id, seen.name)
  }
  return undefined
}

/** A call in the short form of the cases, or as it goes over the wire. */
export function plainCall(call: Fields): { readonly id: string; readonly name: string; readonly arguments: string } {
  const { name, arguments: text } = isFields(call.function) ? call.function : call
  return { id: stringOf(call.id) ?? '', name: stringOf(name) ?? '', arguments: stringOf(text) ?? '' }
}

/** Which id of the case became which one here. */
class Ids {
  readonly #given: ReadonlySet<string>
  readonly #bound = new Map<unknown, unknown[]>()
  #fresh = new Set<unknown>()

  constructor(given: ReadonlySet<string>) {
    this.#given = given
  }

  /** A batch begins: an id said again means the new call. */
  begin(): void {
    this.#fresh = new Set()
  }

  /** An id that was given is not renamed into another given one. */
  bind(expected: string, actual: string): boolean {
    const known = this.#fresh.has(expected) ? (this.#bound.get(expected) ?? []) : []
    this.#fresh.add(expected)
    this.#bound.set(expected, [...known, actual])
    return !this.#given.has(actual) || actual === expected
  }

  areSame(expected: unknown, actual: unknown): boolean {
    return this.#bound.get(expected)?.includes(actual) ?? expected === actual
  }
}
