import { textOf } from '../core/text.ts'
import type { Limit } from './tool-loop-limits.ts'
import type { Progress } from './tool-loop-progress.ts'
import type { Settled } from './tool-loop-run.ts'

/** Rounds in a row in which calls were made and none ran, until a model that was told of limits must answer. */
const MAX_IDLE = 3

/** The limits that calls of the batch met, in their order. */
export function breachesOf(batch: readonly Settled[]): readonly Limit[] {
  return batch.flatMap(({ result }) =>
    result.breach === undefined ? [] : [{ ...result.breach, text: textOf(result.content) }]
  )
}

/** The limit that ends the turn after its last batch. */
export function stopOf({ batch }: Pick<Progress, 'batch'>): Limit | undefined {
  return breachesOf(batch).find(({ action }) => action === 'stop')
}

/** The limit for which the next round is the last. */
export function lastBy({ batch, idle }: Pick<Progress, 'batch' | 'idle'>): Limit | undefined {
  const breaches = breachesOf(batch)
  return breaches.find(({ action }) => action === 'force_answer') ?? (idle >= MAX_IDLE ? breaches.at(-1) : undefined)
}
