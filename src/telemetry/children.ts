/**
 * Children of metrics that share their labels, made once and found by the values with one lookup. At most four labels.
 */
export function children<T>(
  create: (a: string, b: string, c: string, d: string) => T
): (a: string, b: string, c?: string, d?: string) => T {
  const made = new Map<string, T>()
  return (a, b, c = '', d = '') => {
    const key = `${a}\n${b}\n${c}\n${d}`
    let child = made.get(key)
    if (child === undefined) {
      child = create(a, b, c, d)
      made.set(key, child)
    }
    return child
  }
}
