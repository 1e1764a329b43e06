const FENCE = '```'

/** The text without white space around it, and without the Markdown code fence that models like to put around JSON. */
export function withoutFence(text: string): string {
  const trimmed = text.trim()
  const isFenced = trimmed.length >= 2 * FENCE.length && trimmed.startsWith(FENCE) && trimmed.endsWith(FENCE)
  if (!isFenced) return trimmed
  const inside = trimmed.slice(FENCE.length, -FENCE.length)
  const [language = ''] = /^[a-z]\w*(?=\s|[[{"])/i.exec(inside) ?? []
  return inside.slice(language.length).trim()
}
