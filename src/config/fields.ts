/** The few field shapes that the sections of the configuration share. */
import { z } from 'zod'

/** An option that may be left out or `null`; absent (`undefined`) then. */
export function orNull<T extends z.ZodType>(schema: T) {
  return (
    schema
      .nullable()
      // The type of a generic default cannot be told to the compiler; `null` is what `nullable` just allowed.
      .prefault(null as never)
      .transform(value => value ?? undefined)
  )
}

/** Text in which `""` means absent, as `"${NAME:-}"` gives when the variable is not set. */
export function textOrNull() {
  return z
    .string()
    .nullable()
    .default(null)
    .transform(value => value || undefined)
}

/** Whole milliseconds. `max` defaults to a day. */
export function ms(min: number, max = 86_400_000) {
  return z.int().min(min).max(max)
}

/** A limit of a turn: -1 switches it off. */
export function limit() {
  return z.int().min(-1).max(1_000_000)
}

/** What a model charges. */
export function price() {
  const usd = () => z.number().min(0).max(1_000_000)
  return z.strictObject({
    prompt: usd().describe('USD per million tokens of the prompt.'),
    completion: usd().describe('USD per million tokens of the completion, reasoning included.'),
    cached: orNull(usd()).describe('For prompt tokens out of the cache of the provider; default: as prompt.'),
    cache_write: orNull(usd()).describe('For prompt tokens that were written to it; default: as prompt.')
  })
}

/** The name of something declared in the file: what can stand in a path, a label and a log line without quoting. */
export function nameText() {
  return z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ : -')
}

/** An http or https URL without user, query and fragment. */
export function plainUrl() {
  return z.string().refine(isPlainUrl, 'must be an http or https URL without user name, query and fragment')
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  return plain && (url.protocol === 'http:' || url.protocol === 'https:')
}
