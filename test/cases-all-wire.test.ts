import t from 'tap'
import { wire } from '../src/cases/wire/kind.ts'
import { onlyExpectedFail, playedCases, wrongValuesAreFound } from './helper/played-cases.ts'

// Hundreds of cases, many with a gateway process of their own: a busy machine takes its time. As long as `npm test` waits.
t.setTimeout(300_000)

const played = await playedCases(wire)

t.test('exactly the wire cases fail that cannot pass yet', async t => onlyExpectedFail(t, 'wire', played))

t.test('of 200 expected values that are made wrong, one at a time, at least 99 % make their case fail', async t =>
  wrongValuesAreFound(t, played)
)
