import type { Config } from './schema.ts'

type Provider = Config['providers'][number]
type Env = Readonly<Record<string, string | undefined>>

/** Where requests of kind `openai` go when nothing else is said. */
const OPENAI_URL = 'https://api.openai.com/v1'

/**
 * Adds what the file need not say: `openai` when `OPENAI_API_KEY` is set and no provider of that name is declared,
 * `sim` when no provider is declared or without a file, base URLs, the models of `sim`, and `LOOPGATE_ADMIN_KEY`.
 */
export function complete(config: Config, env: Env, options: { demo: boolean; adminKeySaid: boolean }): Config {
  const declared = config.providers.map(withDefaults)
  const providers = [...declared, ...fromEnvironment(env, declared)]
  if (declared.length === 0 && (options.demo || providers.length === 0)) providers.unshift(sim())
  const adminKey = config.auth.admin_key ?? (options.adminKeySaid ? undefined : env.LOOPGATE_ADMIN_KEY || undefined)
  return { ...config, providers, auth: { ...config.auth, admin_key: adminKey } }
}

function withDefaults(provider: Provider): Provider {
  if (provider.kind === 'openai') return { ...provider, base_url: provider.base_url ?? OPENAI_URL }
  return provider.models.length > 0 ? provider : { ...provider, models: sim().models }
}

function fromEnvironment(env: Env, declared: readonly Provider[]): Provider[] {
  const key = env.OPENAI_API_KEY
  if (!key || declared.some(({ name }) => name === 'openai')) return []
  const base_url = env.OPENAI_BASE_URL || OPENAI_URL
  return [{ ...blank('openai', 'openai'), base_url, api_keys: [key], models: ['gpt-*', 'o*'] }]
}

function sim(): Provider {
  return { ...blank('sim', 'sim'), models: ['sim', 'sim-script'] }
}

function blank(name: string, kind: Provider['kind']): Provider {
  return {
    name,
    kind,
    base_url: undefined,
    api_keys: [],
    models: [],
    headers: {},
    empty_assistant_content: undefined,
    replay_reasoning: 'auto',
    structured_output: 'native',
    transport: 'http',
    timeouts: {},
    retry: {}
  }
}
