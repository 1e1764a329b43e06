/**
 * Is a JSON text nested deeper than `max`? Found without recursion: the parser survives a text of 100,000 brackets,
 * what walks or writes its value does not.
 */
export function isDeeperThan(text: string, max: number): boolean {
  return hasMoreBracketsThan(text, max) && isNestedDeeperThan(text, max)
}

/** Most texts have too few brackets to be deep, which is known without looking at every character. */
function hasMoreBracketsThan(text: string, max: number): boolean {
  if (text.length <= max) return false
  let brackets = 0
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > max) return true
    }
  }
  return false
}

function isNestedDeeperThan(text: string, max: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) {
      at = endOfString(text, at + 1)
      if (at === -1) return false
    } else if (code === 123 || code === 91) {
      if (++depth > max) return true
    } else if (code === 125 || code === 93) depth--
  }
  return false
}

/** Where the closing quote stands; -1 = nowhere. Texts are most of a body, and `indexOf` passes them ten times faster. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1) {
    let start = end
    while (start > from && text.charCodeAt(start - 1) === 92) start--
    if ((end - start) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}
