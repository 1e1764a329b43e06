import { isThere, type Program } from './programs.ts'

/** Starts every reason to skip a test; `scripts/test.ts` fails a run in which a test was skipped for another. */
export const WANT = 'for want of '

/**
 * Options of a test that needs a program: `t.test('…', want('python3'), async t => …)`. Skips it when the program is
 * not there. No test may be skipped for another reason.
 */
export function want(program: Program): { skip: string } | Record<never, never> {
  return isThere(program) ? {} : { skip: WANT + program }
}
