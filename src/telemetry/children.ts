/**
 * Children of metrics that share their labels, made once and found by the values: one map a label, since the strings are
 * the same ones each time and looking them up one by one costs less than putting them together. At most four labels.
 */
export function children<T>(
  create: (a: string, b: string, c: string, d: string) => T
): (a: string, b: string, c?: string, d?: string) => T {
  const made = new Map<string, Map<string, Map<string, Map<string, T>>>>()
  return (a, b, c = '', d = '') => {
    const known = made.get(a)?.get(b)?.get(c)?.get(d)
    if (known !== undefined) return known
    const child = create(a, b, c, d)
    inner(inner(inner(made, a), b), c).set(d, child)
    return child
  }
}

function inner<T>(map: Map<string, Map<string, T>>, key: string): Map<string, T> {
  const known = map.get(key) ?? new Map<string, T>()
  map.set(key, known)
  return known
}
