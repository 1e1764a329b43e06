import { type Compact, compaction } from '../advisors/memory-compaction.ts'
import { meter } from '../advisors/meter.ts'
import { retry } from '../advisors/retry.ts'
import type { Models } from '../core/models.ts'
import { advised, type Model } from '../core/turn.ts'
import type { SessionStore } from '../stores/contracts.ts'
import { retryOptions } from './build-chain.ts'
import { buildPrices } from './build-prices.ts'
import type { Config } from './schema.ts'

export interface BuiltCompaction {
  readonly model: string
  /** The models behind what counts and repeats their calls, and nothing else of the chain. */
  readonly chat: Model
  readonly compact: Compact
}

/** `memory.compaction`, where there is one. */
export function buildCompaction(
  config: Config,
  { models, sessions }: { readonly models: Models; readonly sessions: SessionStore }
): BuiltCompaction | undefined {
  const { compaction: section } = config.memory
  if (section === undefined) return undefined
  const { model, trigger, keep_turns: keepTurns } = section
  const { turns, tokens } = trigger
  const repeat = retry(name => retryOptions(config, models.resolve(name)?.provider))
  return {
    model,
    chat: advised(models.chat, meter({ priceOf: buildPrices(config) }), repeat),
    compact: compaction({
      store: sessions,
      trigger: { ...(turns !== undefined && { turns }), ...(tokens !== undefined && { tokens }) },
      keepTurns
    })
  }
}
