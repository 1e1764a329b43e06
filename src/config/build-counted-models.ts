import { meter } from '../advisors/meter.ts'
import type { Models } from '../core/models.ts'
import { advised, type Model } from '../core/turn.ts'
import { buildPrices } from './build-prices.ts'
import { buildRetry } from './build-retry.ts'
import type { Config } from './schema.ts'

/** The models behind what counts and repeats their calls, and nothing else of the chain. */
export function buildCountedModels(config: Config, models: Pick<Models, 'chat' | 'resolve'>): Model {
  return advised(models.chat, meter({ priceOf: buildPrices(config) }), buildRetry(config, models))
}
