import type { EventData } from 'node:test'
import { WANT } from '../test/helper/want.ts'

type Ended = EventData.TestPass | EventData.TestFail

/** Counts tests, not the suites around them. Nothing that went wrong may end in a count of no failures. */
export class TestTally {
  #passed = 0
  #failed = 0
  #failedSuites = 0
  #skipped = 0
  readonly #wanting = new Set<string>()
  /** Titles of tests skipped for another reason than the want of a program. */
  readonly #idle: string[] = []

  pass(test: Ended): void {
    if (test.skip !== undefined || test.todo !== undefined) this.#leftOut(test)
    else if (test.details.type !== 'suite') this.#passed++
  }

  fail(test: Ended): void {
    if (test.details.type === 'suite') this.#failedSuites++
    else this.#failed++
  }

  #leftOut({ name, skip }: Ended): void {
    if (typeof skip === 'string' && skip.startsWith(WANT)) {
      this.#skipped++
      this.#wanting.add(skip.slice(WANT.length))
    } else this.#idle.push(name)
  }

  /** A skip without a want, or (`skipFails`) any skip, counts as a failure, and so does a suite that failed by itself. */
  result({ skipFails }: { skipFails: boolean }) {
    let failed = this.#failed > 0 ? this.#failed : this.#failedSuites
    failed += this.#idle.length
    if (skipFails) failed += this.#skipped
    return {
      passed: this.#passed,
      failed,
      skipped: this.#skipped,
      wanting: [...this.#wanting].sort(),
      idle: [...this.#idle]
    }
  }
}
