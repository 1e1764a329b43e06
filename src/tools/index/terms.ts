import { stemmer } from 'stemmer'

/** Words that say nothing about which tool is meant. */
const STOP = new Set(
  (
    'a an the is are was were be been being am do does did of to in for on with at by from as into and or but if ' +
    'this that these those it its i me my we our you your he she they them what which who whom how when where why ' +
    'can could would should will shall may might must please help need want like let just some any there here about ' +
    'also very so not no s t d ll re ve m using use used via per'
  ).split(' ')
)

/** Porter's rules would merge these with another word (`news` with `new`, `address` with `addr`). */
const UNSTEMMED = new Set(
  (
    'news address process access status analysis canvas aws dns gps sms css js os ios https rss universe university ' +
    'organization organize generic general generate policy police customs arts past pasta message mass class ' +
    'business busy international internal communication community commute operator operation station state relative ' +
    'execute executive'
  ).split(' ')
)

/** Nothing that long is an English word, and stemming must not cost more than a word is worth. */
const MAX_STEMMED = 32
const MAX_REMEMBERED = 20_000
const remembered = new Map<string, string | undefined>()

/** What a word (of `words`) counts as in the index: its stem; `undefined` when it is left out. */
export function termOf(word: string): string | undefined {
  if (remembered.has(word)) return remembered.get(word)
  const term = STOP.has(word) ? undefined : stemOf(word)
  if (remembered.size < MAX_REMEMBERED && word.length <= MAX_STEMMED) remembered.set(word, term)
  return term
}

function stemOf(word: string): string {
  if (UNSTEMMED.has(word) || word.length > MAX_STEMMED || !/^[a-z]{3,}$/.test(word)) return word
  return stemmer(word)
}
