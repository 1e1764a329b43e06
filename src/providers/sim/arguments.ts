import type { Fields } from '../../core/chat.ts'
import { isFields } from '../../core/is-fields.ts'
import { instance } from './instance.ts'
import { words } from './words.ts'

const PREPOSITIONS = ['in', 'for', 'of', 'to', 'from', 'at', 'named']
/** A word with digits among letters or joined to them, or in capitals: BX-1, ord_77, EUR. */
const CODE = /(?<![\w-])(?=[\w-]*\p{L})(?:[\p{Lu}\d]{2,}|(?=[\w-]*\d)[\p{L}\d]+)(?:[-_][\p{L}\d]+)*(?![\w-])/gu
const ISO_DATE = /(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/
const NUMBER = /(?<![\w.:-])-?\d+(?:\.\d+)?(?![\w:]|-\d|\.\d)/g
const QUOTED = /"([^"]+)"|“([^”]+)”|(?<![\p{L}\d])'([^']+)'(?![\p{L}\d])/gu

/** Takes arguments for a tool out of what the user said, by fixed rules (contract §10, `sim`). */
export function argumentsFor(parameters: Fields | undefined, text: string): Fields {
  const properties = isFields(parameters?.properties) ? parameters.properties : {}
  const required = new Set(Array.isArray(parameters?.required) ? parameters.required : [])
  const found = new Findings(text)
  const values = new Map<string, unknown>()
  // A property named like a preposition (`to`) takes the word after that one before others can.
  const names = Object.keys(properties)
  const named = names.filter(name => found.after(name).length > 0)
  for (const name of new Set([...named, ...names])) {
    const schema = properties[name]
    if (!isFields(schema)) continue
    const value = argument(name, schema, { found, required: required.has(name), root: parameters })
    if (value !== undefined) values.set(name, value)
  }
  return Object.fromEntries(names.flatMap(name => (values.has(name) ? [[name, values.get(name)]] : [])))
}

interface Search {
  readonly found: Findings
  readonly required: boolean
  readonly root: unknown
}

function argument(name: string, schema: Fields, { found, required, root }: Search): unknown {
  const fallback = (): unknown => (required ? instance(schema, root) : undefined)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (Array.isArray(schema.enum)) return found.oneOf(name, schema.enum) ?? (required ? schema.enum[0] : undefined)
  if (type === 'integer' || type === 'number') return found.number(type === 'integer') ?? fallback()
  if (type === 'boolean') return words(name).some(word => found.words.has(word)) || (required ? false : undefined)
  if (type !== undefined && type !== 'string') return fallback()
  const isDate = schema.format === 'date' || name.toLowerCase().includes('date')
  const date = isDate ? found.date : undefined
  return date ?? found.phrase(name) ?? (required ? found.text : undefined)
}

/** What stands in a text, each number and phrase given out once; a value of an enum again only for want of another. */
class Findings {
  readonly text: string
  readonly words: ReadonlySet<string>
  readonly date: string | undefined
  readonly #numbers: number[]
  readonly #phrases: string[]
  readonly #used = new Set<string>()

  constructor(text: string) {
    this.text = text
    this.words = new Set(words(text))
    this.date = text.match(ISO_DATE)?.[0]
    const withoutDate = this.date === undefined ? text : text.replaceAll(this.date, ' ')
    this.#numbers = Array.from(withoutDate.matchAll(NUMBER), ([number]) => Number(number))
    const quoted = Array.from(text.matchAll(QUOTED), match => match[1] ?? match[2] ?? match[3] ?? '')
    const after = PREPOSITIONS.flatMap(word => afterWord(withoutDate, word))
    const codes = Array.from(withoutDate.matchAll(CODE), ([word]) => word)
    this.#phrases = [...quoted, ...after.sort((a, b) => a.at - b.at).map(({ phrase }) => phrase), ...codes]
  }

  /** The value after the preposition that the property is named by, else the first one of the text. */
  oneOf(name: string, values: readonly unknown[]): unknown {
    const there = values
      .map(value => ({ value, word: String(value).toLowerCase(), at: this.#placeOf(String(value).toLowerCase()) }))
      .filter(({ at }) => at !== -1)
      .sort((a, b) => a.at - b.at)
    const free = there.filter(({ word }) => !this.#used.has(word))
    const after = this.after(name).map(phrase => phrase.toLowerCase())
    const found = free.find(({ word }) => after.includes(word)) ?? free[0] ?? there[0]
    if (found !== undefined) this.#used.add(found.word)
    return found?.value
  }

  /** Where the lower-case word first stands whole, or -1. */
  #placeOf(word: string): number {
    const text = this.text.toLowerCase()
    const isInWord = (at: number) => /[\p{L}\d]/u.test(text[at] ?? '')
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
      if (!isInWord(at - 1) && !isInWord(at + word.length)) return at
    }
    return -1
  }

  number(integer: boolean): number | undefined {
    const at = this.#numbers.findIndex(number => !integer || Number.isInteger(number))
    return at === -1 ? undefined : this.#numbers.splice(at, 1)[0]
  }

  /** The phrases after the prepositions that the property is named by. */
  after(name: string): readonly string[] {
    const parts = name.toLowerCase().split(/[^a-z]+/)
    const prepositions = PREPOSITIONS.filter(word => parts.includes(word))
    return prepositions.flatMap(word => afterWord(this.text, word)).map(({ phrase }) => phrase)
  }

  phrase(name: string): string | undefined {
    const phrase = [...this.after(name), ...this.#phrases].find(each => !this.#used.has(each.toLowerCase()))
    if (phrase !== undefined) this.#used.add(phrase.toLowerCase())
    return phrase
  }
}

/** Capitalised words (`New York`) or a code-like one right after a preposition. */
function afterWord(text: string, word: string): readonly { readonly at: number; readonly phrase: string }[] {
  const pattern = new RegExp(
    `(?<![\\p{L}\\d])${word}\\s+(?:the\\s+)?([\\p{L}\\d_-]+(?:\\s+\\p{Lu}[\\p{L}\\d_-]*)*)`,
    'giu'
  )
  return Array.from(text.matchAll(pattern)).flatMap(({ index, 1: phrase = '' }) => {
    const [first = ''] = phrase.split(/\s/)
    if (/^\p{Lu}\p{Ll}/u.test(first)) return [{ at: index, phrase: capitalised(phrase) }]
    return first.match(CODE)?.[0] === first ? [{ at: index, phrase: first }] : []
  })
}

/** The leading capitalised words; the pattern above ignores case, so it may have caught more. */
function capitalised(phrase: string): string {
  const all = phrase.split(/\s+/)
  const end = all.findIndex(word => !/^\p{Lu}/u.test(word))
  return all.slice(0, end === -1 ? undefined : end).join(' ')
}
