import { relative } from 'node:path'
import type { EventData, TestsStream } from 'node:test'
import { inspect } from 'node:util'
import type { RanTests } from './parity/ran-tests.ts'
import type { TestTally } from './test-tally.ts'

/** Titles of the tests, without each assertion that holds; failures in full, at the end. Keeps all of it in `tally` and `ran`. */
export async function testReport(tests: TestsStream, tally: TestTally, ran: RanTests): Promise<void> {
  const failures: string[] = []
  let file: string | undefined
  const title = (mark: string, { name, nesting, file: of, details, skip }: EventData.TestPass | EventData.TestFail) => {
    if (nesting > 0 && skip === undefined) return
    if (of !== undefined && of !== file) console.log(relative('.', of))
    file = of ?? file
    console.log(
      `  ${mark} ${name}${skip === undefined ? ` (${Math.round(details.duration_ms)} ms)` : ` (skipped ${skip})`}`
    )
  }

  for await (const { type, data } of tests) {
    if (type === 'test:pass') {
      tally.pass(data)
      ran.pass(data)
      title(data.skip === undefined ? '✔' : '–', data)
    } else if (type === 'test:fail') {
      tally.fail(data)
      ran.fail(data)
      title('✖', data)
      if (data.details.type !== 'suite') failures.push(failure(data))
    } else if (type === 'test:stdout' || type === 'test:stderr') process.stdout.write(data.message)
  }
  if (failures.length > 0) console.log(`\nFailed:\n\n${failures.join('\n\n')}\n`)
}

function failure({ name, file, line, details }: EventData.TestFail): string {
  const place = file === undefined ? '' : `${relative('.', file)}:${line ?? 1}: `
  return `✖ ${place}${name}\n${inspect(details.error.cause ?? details.error, { depth: 6 })}`
}
