/** Bidi marks and overrides, tag characters, and halves of surrogate pairs: what nobody sees but a model reads. */
const INVISIBLE = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}\p{Cs}]/gu

/** The text without invisible tag and bidi characters and without lone surrogates (contract §6.5). */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, '')
}
