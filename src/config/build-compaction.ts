import { type Compact, compaction } from '../advisors/memory-compaction.ts'
import type { Models } from '../core/models.ts'
import type { Model } from '../core/turn.ts'
import type { SessionStore } from '../stores/contracts.ts'
import { buildCountedModels } from './build-counted-models.ts'
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
  return {
    model,
    chat: buildCountedModels(config, models),
    compact: compaction({
      store: sessions,
      trigger: { ...(turns !== undefined && { turns }), ...(tokens !== undefined && { tokens }) },
      keepTurns
    })
  }
}
