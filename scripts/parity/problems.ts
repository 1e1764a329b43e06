import { existsSync, readFileSync } from 'node:fs'
import type { RanTests } from './ran-tests.ts'
import { type NamedTest, type ParityRow, type ParitySection, parityRows } from './rows.ts'

/** A reason shorter than this says nothing. */
const LEAST = 20

/**
 * Everything that is wrong with the table of parity in this file, a sentence each; empty when all is well. `ran` has
 * the tests of the run; without it only the table itself is looked at, and whether its files are there.
 */
export function parityProblems(path: string, ran?: RanTests): readonly string[] {
  const { sections, unread } = parityRows(readFileSync(path, 'utf8'))
  return [
    ...(sections.length === 0 ? [`${path} has no section`] : []),
    ...unread.map(line => `cannot be read: ${line.slice(0, 100)}`),
    ...sections.flatMap(outOfSequence),
    ...sections.flatMap(({ rows }) => rows.flatMap(row => wrongIn(row, ran)))
  ]
}

/** Each section has the rows 1 to its count, each once and in order. */
function outOfSequence({ number, count, rows }: ParitySection): string[] {
  const expected = Array.from({ length: count }, (_, n) => `${number}.${n + 1}`)
  const there = rows.map(row => row.number)
  const missing = expected.filter(each => !there.includes(each)).map(each => `${each} is missing`)
  const alien = there
    .filter(each => !expected.includes(each))
    .map(each => `${each} is beyond the ${count} of ${number}`)
  const twice = there.filter((each, n) => there.indexOf(each) !== n).map(each => `${each} is there twice`)
  return [...missing, ...alien, ...twice]
}

function wrongIn({ number, tests, says }: ParityRow, ran: RanTests | undefined): string[] {
  if (tests.length === 0) return says.length < LEAST ? [`${number} has neither a test nor a reason`] : []
  const wrong = tests.map(test => wrongWith(test, ran)).filter(each => each !== undefined)
  if (says === '') wrong.unshift('it does not say what its tests assert')
  return wrong.map(each => `${number}: ${each}`)
}

function wrongWith({ file, title }: NamedTest, ran: RanTests | undefined): string | undefined {
  if (!existsSync(file)) return `there is no ${file}`
  if (ran === undefined) return undefined
  const test = ran.find(file, title)
  if (test === undefined) return `no test of this title ran in ${file}: ${title}`
  if (test.outcome !== 'passed') return `${test.outcome} in ${file}: ${title}`
  return test.assertions > 0 ? undefined : `asserted nothing in ${file}: ${title}`
}
