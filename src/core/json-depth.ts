/**
 * Is a JSON text nested deeper than `max`? Found without recursion: the parser survives a text of 100,000 brackets,
 * what walks or writes its value does not.
 */
export function isDeeperThan(text: string, max: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 92) at++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 123 || code === 91) {
      if (++depth > max) return true
    } else if (code === 125 || code === 93) depth--
  }
  return false
}
