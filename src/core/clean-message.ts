const MAX_LENGTH = 1000
const HTML = /<!doctype|<\/?[a-z][a-z0-9]*(\s[^<>]*)?>/i
// Control characters, zero-width and bidi marks, tag characters.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}]+/gu
const HIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)\]]+/gi, '[url]'],
  [/\bBearer\s+[\w.~+/=-]+/gi, '[key]'],
  [/\b(?:sk|pk|key|org|proj|gsk|xai)[-_][\w-]{6,}[*\w-]*/g, '[id]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]'],
  [/\[?\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}\b\]?(?::\d+)?/gi, '[address]'],
  [/\b[\w-]+(?:\.[\w-]+)*(?::\d{2,5}\b|\.(?:local|internal|lan|svc)\b(?:\.[\w-]+)*)/gi, '[address]']
]

/**
 * A provider's own message, fit to be shown to a client: one line, at most 1,000 characters, without addresses and keys
 * (contract §12). `undefined` when nothing showable is left: empty, or a page of HTML.
 */
export function cleanMessage(text: string): string | undefined {
  if (HTML.test(text)) return undefined
  let clean = text.slice(0, MAX_LENGTH * 4).replace(INVISIBLE, ' ')
  for (const [pattern, word] of HIDDEN) clean = clean.replace(pattern, word)
  clean = clean.replace(/\s+/g, ' ').trim()
  if (clean.length > MAX_LENGTH) clean = `${clean.slice(0, MAX_LENGTH - 1)}…`
  return clean === '' ? undefined : clean
}
