/** The configuration of a wire case: the mapping of contract §16. */
import { type Fields, fieldsOf, isFields } from '../fields.ts'
import type { GatewayTool, WireCase } from './case.ts'

/** Names a tool may be registered under (contract §6.1). Others can only come from an MCP server. */
const REGISTRABLE = /^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$/

/** What `gatewayConfig` sets: where it goes in the file, and how its value is written there. */
const SETTINGS: Readonly<
  Record<string, { readonly to: readonly string[]; readonly value?: (value: unknown) => unknown }>
> = {
  retries: { to: ['retry.max_retries'] },
  upstreamIdleMs: { to: ['timeouts.idle_ms', 'timeouts.first_byte_ms'] },
  keepaliveMs: { to: ['stream.keepalive_ms'] },
  commitHeadAfterMs: { to: ['stream.commit_ms'] },
  maxTurns: { to: ['limits.max_rounds'] },
  toolResultMaxBytes: { to: ['tool_defaults.result.max_model_bytes'] },
  'provider.emptyAssistantContent': {
    to: ['providers.0.empty_assistant_content'],
    value: value => (value === 'empty-string' ? 'empty_string' : value)
  },
  'provider.replayReasoning': { to: ['providers.0.replay_reasoning'] }
}

/** Throws when the case asks for a setting that is not known here: it cannot be driven then. */
export function wireConfig(one: WireCase, upstreamUrl: string, webhookUrl: string): Fields {
  const base = {
    version: 1,
    default_model: 'm-test',
    providers: [
      {
        name: 'up',
        kind: one.provider,
        base_url: one.provider === 'openai' ? `${upstreamUrl}/v1` : upstreamUrl,
        api_keys: ['upstream-key-of-the-cases'],
        models: ['m-test', 'a-test']
      }
    ],
    // The waits between attempts are no part of a case.
    retry: { max_retries: 0, min_ms: 1, max_ms: 20 },
    tools: (one.gatewayTools ?? []).map(tool => declared(tool, webhookUrl))
  }
  let config: Fields = base
  for (const [name, value] of settingsOf(one)) {
    const setting = SETTINGS[name]
    if (!setting) throw new Error(`the runner does not know the setting gatewayConfig.${name}`)
    for (const path of setting.to) config = withValue(config, path.split('.'), setting.value?.(value) ?? value)
  }
  return config
}

/** `gatewayConfig` with the names inside `provider` written out. */
function settingsOf({ gatewayConfig = {} }: WireCase): readonly (readonly [string, unknown])[] {
  return Object.entries(gatewayConfig).flatMap(([name, value]): (readonly [string, unknown])[] =>
    isFields(value) ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one]) : [[name, value]]
  )
}

function declared({ name, description, parameters }: GatewayTool, webhookUrl: string): Fields {
  if (!REGISTRABLE.test(name)) {
    throw new Error(`the tool name ${name} cannot be registered; only an MCP server can bring it, and none is here yet`)
  }
  return {
    name,
    description: description ?? `The tool ${name}`,
    input_schema: parameters,
    endpoint: { url: `${webhookUrl}/tools/${name}`, egress_policy: 'internal' }
  }
}

function withValue(target: Fields, [step = '', ...rest]: readonly string[], value: unknown): Fields {
  if (rest.length === 0) return { ...target, [step]: value }
  const inner = target[step]
  if (Array.isArray(inner)) {
    const [at = '0', ...deeper] = rest
    return {
      ...target,
      [step]: inner.map((one, n) => (n === Number(at) ? withValue(fieldsOf(one), deeper, value) : one))
    }
  }
  return { ...target, [step]: withValue(fieldsOf(inner), rest, value) }
}
