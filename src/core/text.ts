import type { Content } from './chat.ts'

/** The text of a content, its text parts joined without anything between. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}
