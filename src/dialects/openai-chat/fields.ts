import type { Fields } from '../../core/chat.ts'

/** The fields that are not among `known`; absent when there are none. */
export function without(value: Fields, known: ReadonlySet<string>): Fields | undefined {
  let rest: Record<string, unknown> | undefined
  for (const field in value) {
    if (known.has(field) || value[field] === undefined) continue
    rest ??= {}
    rest[field] = value[field]
  }
  return rest
}
