import type { Tool } from '../core/chat.ts'
import type { Run } from '../core/turn.ts'
import { signingKey } from '../egress/signing.ts'
import type { ToolRow } from '../stores/contracts.ts'
import { augmented } from './augment.ts'
import type { ToolDefinition } from './definition.ts'
import { type WebhookServices, webhook } from './webhook.ts'

/** Secrets of a tool and when they were given (ISO 8601). */
export interface ToolSecrets {
  readonly signing: string
  readonly signingAt: string
  readonly auth?: string
  readonly authAt?: string
}

/** A tool of the catalog at one version. */
export interface ToolEntry {
  readonly definition: ToolDefinition
  readonly version: number
  readonly state: ToolRow['state']
  readonly source: 'file' | 'api'
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly secrets: ToolSecrets
  /** What turns are given. */
  readonly tool: Tool
}

export type EntryFields = Omit<ToolEntry, 'tool'>

/** Makes the tool that turns are given of its registration. */
export function toolEntry(fields: EntryFields, services: WebhookServices): ToolEntry {
  const { definition, version, secrets } = fields
  const run = webhook(
    {
      definition,
      version,
      keys: [signingKey(secrets.signing)],
      credential: credentialOf(definition, secrets.auth),
      secrets: secrets.auth === undefined ? [secrets.signing] : [secrets.signing, secrets.auth]
    },
    services
  )
  return { ...fields, tool: augmented(toolOf(definition, version, run), definition.augment) }
}

function credentialOf({ auth }: ToolDefinition, secret: string | undefined): readonly [string, string] | undefined {
  if (secret === undefined) return undefined
  if (auth.type === 'header') return [auth.name, secret]
  return auth.type === 'bearer' ? ['authorization', `Bearer ${secret}`] : undefined
}

function toolOf(definition: ToolDefinition, version: number, run: Run): Tool {
  const { name, title, description, input_schema, group, annotations, limits } = definition
  const { read_only, destructive, idempotent } = annotations
  const told = description || title
  return {
    name,
    ...(told && { description: told }),
    parameters: input_schema,
    kind: 'webhook',
    run,
    version,
    ...(group !== undefined && { group }),
    ...(definition.always_visible && { alwaysVisible: true }),
    ...(definition.sequential && { sequential: true }),
    ...(definition.return_direct && { returnDirect: true }),
    annotations: {
      ...(read_only !== undefined && { readOnly: read_only }),
      ...(destructive !== undefined && { destructive }),
      ...(idempotent !== undefined && { idempotent })
    },
    ...(limits.identical !== undefined && { maxIdenticalCalls: limits.identical }),
    ...(limits.per_turn !== undefined && { maxCallsPerTurn: limits.per_turn })
  }
}
