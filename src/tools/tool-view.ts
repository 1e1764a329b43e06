import type { ToolDefinition } from './definition.ts'
import { flagsOf } from './registration.ts'
import type { ToolEntry } from './tool-entry.ts'

/** What is told of a secret: never itself. */
export interface SecretView {
  readonly secret_ref: string
  readonly last4: string
  readonly created_at: string
}

/** A tool as `GET /v1/tools/{name}` shows it. */
export interface ToolView {
  readonly name: string
  readonly version: number
  /** `builtin`: run by the gateway itself, as those of plugins are. */
  readonly kind: 'webhook' | 'builtin'
  readonly state: ToolEntry['state']
  readonly source: ToolEntry['source'] | 'plugin'
  readonly created_at: string
  readonly title?: string
  readonly description?: string
  readonly input_schema: ToolDefinition['input_schema']
  readonly output_schema?: ToolDefinition['output_schema']
  readonly annotations: ToolDefinition['annotations']
  readonly group?: string
  /** From here on only for those who may change it. */
  readonly always_visible?: boolean
  readonly sequential?: boolean
  readonly return_direct?: boolean
  readonly augment?: ToolDefinition['augment']
  readonly allow_roles?: readonly string[]
  readonly endpoint?: ToolDefinition['endpoint']
  readonly auth?: ToolDefinition['auth'] & Partial<SecretView>
  readonly signing?: SecretView
  readonly context?: ToolDefinition['context']
  readonly limits?: ToolDefinition['limits']
  readonly result?: ToolDefinition['result']
  readonly flags?: readonly string[]
}

/** `full`: with address, secrets' references and settings, for those who may change the tool. */
export function toolView(entry: ToolEntry, audience: 'full' | 'user'): ToolView {
  const { definition, version, state, source, createdAt, secrets } = entry
  const { name, kind, title, description, input_schema, output_schema, annotations, group, ...settings } = definition
  const shared: ToolView = {
    ...{ name, version, kind, state, source, created_at: new Date(createdAt).toISOString() },
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    input_schema,
    ...(output_schema !== undefined && { output_schema }),
    annotations,
    ...(group !== undefined && { group })
  }
  if (audience === 'user') return shared
  return {
    ...shared,
    ...settings,
    auth: { ...settings.auth, ...(secrets.auth && secretView(name, 'auth', secrets.auth, secrets.authAt)) },
    signing: secretView(name, 'signing', secrets.signing, secrets.signingAt),
    flags: flagsOf(definition)
  }
}

function secretView(tool: string, field: string, secret: string, createdAt = ''): SecretView {
  // The last four of a short secret would be most of it.
  const last4 = secret.length >= 16 ? secret.slice(-4) : '****'
  return { secret_ref: `${tool}/${field}`, last4, created_at: createdAt }
}
