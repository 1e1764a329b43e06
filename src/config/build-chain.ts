import { audit } from '../advisors/audit.ts'
import { memory } from '../advisors/memory.ts'
import { meter } from '../advisors/meter.ts'
import { type RetryOptions, retry } from '../advisors/retry.ts'
import { toolLoop } from '../advisors/tool-loop.ts'
import { toolSearch } from '../advisors/tool-search.ts'
import type { ToolFinder } from '../core/finder.ts'
import type { Models } from '../core/models.ts'
import { ownValue } from '../core/own-value.ts'
import { type Advisor, advised, type Guard, type Model } from '../core/turn.ts'
import type { SessionStore } from '../stores/contracts.ts'
import type { Config } from './schema.ts'

export interface ChainServices {
  readonly models: Models
  readonly sessions: SessionStore
  readonly finder: ToolFinder
  /** Around every tool call, first = outermost. */
  readonly guards: readonly Guard[]
  /** Remote advisors and those of plugins: the lists name them beside the built-in ones. */
  readonly added?: readonly Advisor[]
}

/** The whole chain: the `turn` list, the loop, the `call` list, and the models by name at its end. */
export function buildChain(config: Config, services: ChainServices): Model {
  const { added = [] } = services
  const create = { ...creators(config, services), ...Object.fromEntries(added.map(each => [each.name, () => each])) }
  const listed = (names: readonly string[]) =>
    names.map(name => {
      const make = ownValue(create, name)
      // The configuration was checked for names that do not exist before it came here.
      if (make === undefined) throw new TypeError(`There is no advisor named ${name}.`)
      return make()
    })
  const { turn, call } = config.chain
  return advised(services.models.chat, ...listed(turn), toolLoop({ guards: services.guards }), ...listed(call))
}

function creators(config: Config, { models, sessions, finder }: ChainServices): Record<string, () => Advisor> {
  return {
    audit,
    meter,
    memory: () => memory({ store: sessions }),
    retry: () => retry(model => retryOptions(config, models.resolve(model)?.provider)),
    'tool-search': () =>
      toolSearch({
        finder,
        store: sessions,
        toolName: config.tool_search.tool_name,
        systemSuffix: config.tool_search.system_suffix,
        autoMinTokens: config.tool_search.auto_min_tokens
      })
  }
}

function retryOptions(config: Config, providerName: string | undefined): RetryOptions {
  const own = config.providers.find(({ name }) => name === providerName)?.retry
  return {
    maxRetries: own?.max_retries ?? config.retry.max_retries,
    minMs: own?.min_ms ?? config.retry.min_ms,
    maxMs: own?.max_ms ?? config.retry.max_ms
  }
}
