import type { Models } from '../core/models.ts'
import { openaiProvider } from '../providers/openai/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { simProvider } from '../providers/sim/provider.ts'
import { byName } from '../routing/by-name.ts'
import type { Config } from './schema.ts'

export interface BuiltModels {
  readonly models: Models
  /** Ends the providers' connections. */
  close(): Promise<void>
}

const OPENAI_URL = 'https://api.openai.com/v1'

/** Turns the sections `providers` and `models` into models by name. `allowScript`: is there `sim-script`? */
export function buildModels(config: Config, { allowScript }: { readonly allowScript: boolean }): BuiltModels {
  const providers = config.providers.map(entry => ({
    provider: buildProvider(entry, config, allowScript),
    models: entry.models
  }))
  const aliases = config.models.flatMap(({ name, targets }) => targets.slice(0, 1).map(target => ({ name, ...target })))
  return {
    models: byName({ providers, aliases, defaultModel: config.default_model }),
    close: async () => {
      await Promise.all(providers.map(({ provider }) => provider.close()))
    }
  }
}

function buildProvider(entry: Config['providers'][number], config: Config, allowScript: boolean): Provider {
  const { name } = entry
  if (entry.kind === 'sim') {
    return simProvider({
      name,
      allowScript,
      scriptFile: config.sim.script_file,
      searchToolName: config.tool_search.tool_name
    })
  }
  const own = entry.timeouts
  return openaiProvider({
    name,
    baseUrl: entry.base_url ?? OPENAI_URL,
    apiKey: entry.api_keys[0],
    headers: entry.headers,
    emptyAssistantContent: entry.empty_assistant_content ?? 'null',
    replayReasoning: entry.replay_reasoning,
    timeouts: {
      connectMs: own.connect_ms ?? config.timeouts.connect_ms,
      firstByteMs: own.first_byte_ms ?? config.timeouts.first_byte_ms,
      idleMs: own.idle_ms ?? config.timeouts.idle_ms
    },
    transport: entry.transport
  })
}
