/** Are both the same JSON value? The order of keys does not matter; a key that is absent and one that is `null` differ. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a === 'number' && typeof b === 'number') return a === b
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, at) => sameValue(one, b[at]))
  }
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return (
    left.size === right.size && [...left].every(([key, value]) => right.has(key) && sameValue(value, right.get(key)))
  )
}

/** Are both texts the same, or the same JSON value written in two ways? */
export function sameText(a: string, b: string): boolean {
  if (a === b) return true
  const [left, right] = [parsed(a), parsed(b)]
  return left !== undefined && right !== undefined && sameValue(left.value, right.value)
}

/** The JSON value of a text, in a box; `undefined` when it is none. */
export function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** A value for a message: JSON on one line, cut. */
export function shown(value: unknown, length = 160): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
