import { visibleText } from './visible-text.ts'

/** Control characters but tab and newline, and characters of no width that join no letters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSHOWN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u200B\u2060\uFEFF]/g

/** A title or description without what a reader would not see. */
export function shownText(text: string): string {
  return visibleText(text.replaceAll('\r\n', '\n')).replace(UNSHOWN, '').trim()
}

const ORDERS = [
  /\b(?:ignore|disregard|forget|override)\b[^.]{0,60}\b(?:previous|prior|above|earlier|other|all|system)\b/i,
  /\b(?:you must|always (?:call|use)|never (?:call|use|tell|mention)|do not (?:tell|mention|reveal|inform))\b/i,
  /\bbefore (?:using|calling|you use) (?:every|all|another|any)\b|\binstead of (?:every|all|any) other\b/i,
  /<\/?\s*(?:system|important|instructions?|secret)\s*>|\bsystem prompt\b/i
]

/** Does a text give the model orders, as descriptions of honest tools rarely do? For people to look at (§6.1). */
export function givesOrders(text: string): boolean {
  return ORDERS.some(pattern => pattern.test(text))
}
