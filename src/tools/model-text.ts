/** Bytes of a result that the model sees where nothing else is said (`result.max_model_bytes`, contract §6.1). */
export const DEFAULT_MODEL_BYTES = 16_000

/** The whole of a text, or as many bytes of it as were read. */
export interface Excerpt {
  readonly text: string
  /** Reading stopped here; there was more. */
  readonly cut: boolean
}

/**
 * What the model is shown of a text: at most `maxBytes` bytes of UTF-8, cut on a character border, with a mark that
 * counts into them: `… [cut: N of M bytes]`, or `… of more than M bytes` (contract §6.5).
 */
export function modelText({ text, cut }: Excerpt, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (!cut && bytes.length <= maxBytes) return text
  const total = `${cut ? 'more than ' : ''}${bytes.length} bytes`
  const markOf = (kept: number): string => `… [cut: ${kept} of ${total}]`
  // The mark of the largest number is never shorter than the one that is written.
  const room = Math.min(bytes.length, Math.max(0, maxBytes - Buffer.byteLength(markOf(maxBytes))))
  const kept = borderBefore(bytes, room)
  return bytes.toString('utf8', 0, kept) + markOf(kept)
}

function borderBefore(bytes: Buffer, at: number): number {
  let border = at
  // 0b10xxxxxx continues a character.
  while (border > 0 && border < bytes.length && ((bytes[border] ?? 0) & 0xc0) === 0x80) border--
  return border
}
