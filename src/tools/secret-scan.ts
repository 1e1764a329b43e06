const MIN_LENGTH = 8
/** From here on one pass over the text is cheaper than one search for each secret. */
const MANY = 64

/** Does a text contain one of the secrets? Those shorter than 8 characters would be found everywhere, and are not. */
export type SecretScan = (text: string) => boolean

/** `text` is JSON: a secret is also looked for as JSON writes it. */
export function secretScan(secrets: Iterable<string>): SecretScan {
  const known = new Set<string>()
  for (const secret of secrets) for (const spelling of spellingsOf(secret)) known.add(spelling)
  if (known.size === 0) return () => false
  if (known.size < MANY) return text => [...known].some(secret => text.includes(secret))

  const byHead = Map.groupBy(known, secret => secret.slice(0, MIN_LENGTH))
  return text => {
    for (let at = 0; at + MIN_LENGTH <= text.length; at++) {
      const candidates = byHead.get(text.slice(at, at + MIN_LENGTH))
      if (candidates?.some(secret => text.startsWith(secret, at))) return true
    }
    return false
  }
}

/** As it is, as JSON text has it, and a signing secret without its prefix. */
export function spellingsOf(secret: string): readonly string[] {
  const plain = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret
  const spellings = new Set([plain, JSON.stringify(plain).slice(1, -1)])
  return [...spellings].filter(({ length }) => length >= MIN_LENGTH)
}

/** The text with every occurrence of the secrets replaced by `***`. */
export function scrub(text: string, spellings: readonly string[]): string {
  return spellings.reduce((clean, secret) => (clean.includes(secret) ? clean.replaceAll(secret, '***') : clean), text)
}
