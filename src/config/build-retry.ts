import { type RetryOptions, retry } from '../advisors/retry.ts'
import type { Models } from '../core/models.ts'
import type { Advisor } from '../core/turn.ts'
import type { Config } from './schema.ts'

/** Repeats calls of a model as its provider wants it: by that provider's own numbers, else by those of all. */
export function buildRetry(config: Config, models: Pick<Models, 'resolve'>): Advisor {
  return retry(model => retryOptions(config, models.resolve(model)?.provider))
}

function retryOptions(config: Config, providerName: string | undefined): RetryOptions {
  const own = config.providers.find(({ name }) => name === providerName)?.retry
  return {
    maxRetries: own?.max_retries ?? config.retry.max_retries,
    minMs: own?.min_ms ?? config.retry.min_ms,
    maxMs: own?.max_ms ?? config.retry.max_ms
  }
}
