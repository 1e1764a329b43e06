const STOP = new Set(
  `a an and are as at be by can could did do does for from get give had has have how i in is it its me my of on or
  please show so tell that the their them there these they this to us was we were what when where which who why will
  with would you your`.split(/\s+/)
)

/** The words of a text: identifiers split, lower-cased, without stop words, a plural's `s` cut. */
export function words(text: string): readonly string[] {
  return text
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && !STOP.has(word))
    .map(word => (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word))
}
