import { relative } from 'node:path'
import type { EventData } from 'node:test'

type Ended = EventData.TestPass | EventData.TestFail

/** What became of a test. */
export interface RanTest {
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Assertions that held, in it and in the tests inside it. */
  readonly assertions: number
}

/**
 * Which tests ran, and how much they asserted. The runner tells of one file after the other, of a test its assertions
 * before itself, one level deeper, and of a test without any as skipped.
 */
export class RanTests {
  readonly #tests = new Map<string, RanTest>()
  /** By level: assertions that no test has claimed yet. */
  readonly #unclaimed: number[] = []

  pass(ended: Ended): void {
    this.#ended(ended, ended.skip === undefined && ended.todo === undefined ? 'passed' : 'skipped')
  }

  fail(ended: Ended): void {
    this.#ended(ended, 'failed')
  }

  /** `file`, where the test is written, is relative to the working directory. Of tests of one title the worst counts. */
  find(file: string, title: string): RanTest | undefined {
    return this.#tests.get(`${file}\n${title}`)
  }

  #ended({ name, nesting, file, details }: Ended, outcome: RanTest['outcome']): void {
    const levels = this.#unclaimed
    const inside = levels[nesting + 1] ?? 0
    levels.length = Math.min(levels.length, nesting + 1)
    const isTest = details.type === 'suite'
    const assertions = isTest ? inside : outcome === 'passed' ? 1 : 0
    levels[nesting] = (levels[nesting] ?? 0) + assertions
    if (file === undefined || (!isTest && outcome !== 'skipped')) return
    this.#keep(`${relative('.', file)}\n${name}`, { outcome, assertions })
  }

  #keep(key: string, test: RanTest): void {
    const before = this.#tests.get(key)
    const isWorse = before === undefined || test.outcome !== 'passed' || test.assertions < before.assertions
    if (isWorse && (before === undefined || before.outcome === 'passed')) this.#tests.set(key, test)
  }
}
