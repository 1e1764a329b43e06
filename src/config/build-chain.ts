import { audit } from '../advisors/audit.ts'
import { callRunner } from '../advisors/call-runner.ts'
import { heldRunner, type RunHeld } from '../advisors/held-runner.ts'
import { memory } from '../advisors/memory.ts'
import { meter } from '../advisors/meter.ts'
import { structuredOutput } from '../advisors/structured-output.ts'
import { toolLoop } from '../advisors/tool-loop.ts'
import { toolSearch } from '../advisors/tool-search.ts'
import type { ToolFinder } from '../core/finder.ts'
import type { Models } from '../core/models.ts'
import { ownValue } from '../core/own-value.ts'
import type { RunCalls } from '../core/run-calls.ts'
import { type Advisor, advised, type Guard, type Model } from '../core/turn.ts'
import type { SessionStore } from '../stores/contracts.ts'
import { outputJudge } from '../tools/output-judge.ts'
import { buildPrices } from './build-prices.ts'
import { buildRetry } from './build-retry.ts'
import type { Config } from './schema.ts'

export interface ChainServices {
  readonly models: Models
  readonly sessions: SessionStore
  readonly finder: ToolFinder
  /** Around every tool call, first = outermost. */
  readonly guards: readonly Guard[]
  /** Remote advisors and those of plugins: the lists name them beside the built-in ones. */
  readonly added?: readonly Advisor[]
  /** The loop that `chain.loop` names, where it is a plugin's. */
  readonly loop?: ((run: RunCalls) => Advisor) | undefined
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
  return advised(services.models.chat, ...listed(turn), loopOf(config, services), ...listed(call))
}

/** What runs calls that a client asks for: the tools that tool search would show, and all guards. */
export function buildHeldRunner(config: Config, services: ChainServices): RunHeld {
  const searches = config.chain.call.includes('tool-search')
  const offering = searches ? creators(config, services)['tool-search']?.() : undefined
  return heldRunner({ guards: services.guards, offering, failTurnOn: config.loop.fail_turn_on })
}

function creators(config: Config, { models, sessions, finder }: ChainServices): Record<string, () => Advisor> {
  return {
    audit,
    meter: () => meter({ priceOf: buildPrices(config) }),
    memory: () => memory({ store: sessions }),
    'structured-output': () =>
      structuredOutput({
        judge: outputJudge,
        modeOf: model => outputMode(config, models.resolve(model)?.provider)
      }),
    retry: () => buildRetry(config, models),
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

function loopOf({ loop, chain, advisors }: Config, { guards, added = [], loop: other }: ChainServices): Advisor {
  if (other) return other(callRunner(guards))
  // Remote ones cannot.
  const remotes = new Set(advisors.map(({ name }) => name))
  const mayAddTools = added.some(({ name }) => chain.call.includes(name) && !remotes.has(name))
  return toolLoop({ guards, failTurnOn: loop.fail_turn_on, eligibleFinish: loop.eligible_finish, mayAddTools })
}

function outputMode(config: Config, providerName: string | undefined): 'native' | 'prompt' {
  const { mode } = config.structured_output
  if (mode !== 'auto') return mode
  return config.providers.find(({ name }) => name === providerName)?.structured_output ?? 'native'
}
