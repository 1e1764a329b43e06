/** Does a name match one of the patterns? `*` stands for any characters; everything else for itself. */
export function matchesGlob(name: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => pattern === '*' || pattern === name || (pattern.includes('*') && fits(name, pattern)))
}

/** Linear in the length of both: a pattern may come from a request. */
function fits(name: string, pattern: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0] ?? ''
  const last = pieces.at(-1) ?? ''
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  const end = name.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at)
    if (found === -1 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
