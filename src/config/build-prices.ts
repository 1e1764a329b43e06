import type { MeterOptions } from '../advisors/meter.ts'
import type { Price } from '../core/cost.ts'
import type { Config } from './schema.ts'

type Entry = Config['prices']['overrides'][string]

/**
 * What a call of a model is charged: by the target of the alias it was asked for, else by `provider/model`, else by
 * `model`. Absent where no prices are configured at all.
 */
export function buildPrices({ prices, models }: Pick<Config, 'prices' | 'models'>): MeterOptions['priceOf'] {
  const table = new Map(Object.entries(prices.overrides).map(([name, entry]) => [name, priceFrom(entry)]))
  const aliases = new Map(models.map(({ name, targets }) => [name, targets]))
  if (table.size === 0 && !models.some(({ targets }) => targets.some(target => target.prices))) return undefined
  return (asked, { provider, model }) => {
    const own = aliases.get(asked)?.find(target => target.provider === provider && target.model === model)?.prices
    return own ? priceFrom(own) : (table.get(`${provider}/${model}`) ?? table.get(model))
  }
}

function priceFrom({ prompt, completion, cached, cache_write: cacheWrite }: Entry): Price {
  return { prompt, completion, cached, cacheWrite }
}
