import { z } from 'zod'
import type { Fields } from '../core/chat.ts'

/** A webhook tool as it was registered, complete, without secrets. Spelled as on the wire (contract §6.1). */
export interface ToolDefinition {
  readonly name: string
  readonly kind: 'webhook'
  readonly title?: string
  readonly description?: string
  readonly input_schema: Fields
  readonly output_schema?: Fields
  readonly annotations: z.output<typeof annotations>
  readonly group?: string
  readonly always_visible: boolean
  readonly sequential: boolean
  readonly return_direct: boolean
  readonly augment: readonly AugmentField[]
  /** `[]` = all. */
  readonly allow_roles: readonly string[]
  readonly endpoint: {
    readonly url: string
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly payload: 'envelope' | 'args'
    readonly timeout_ms: number
    readonly max_request_bytes: number
    readonly max_response_bytes: number
    readonly egress_policy: string
    readonly on_disconnect: 'abort' | 'finish'
  }
  readonly auth: { readonly type: 'none' | 'bearer' } | { readonly type: 'header'; readonly name: string }
  readonly context: { readonly allow: readonly string[] }
  readonly limits: { readonly per_turn?: number; readonly concurrency: number; readonly identical?: number }
  readonly result: { readonly max_model_bytes: number }
}

/** An argument that the model is asked for beside those of a tool (contract §4.6). */
export interface AugmentField {
  readonly name: string
  readonly description?: string
  /** Shown to the model; values are not held against it. */
  readonly schema: Fields
  readonly required: boolean
  /** The tool is handed the value too. */
  readonly forward: boolean
}

const secret = z.string().min(1).max(4096).describe('Write-only.')

const annotations = z.strictObject({
  read_only: z.boolean().optional().describe('Changes nothing.'),
  destructive: z.boolean().optional().describe('May destroy or pay something.'),
  idempotent: z.boolean().optional().describe('Twice is as good as once.'),
  open_world: z.boolean().optional().describe('Its results come from anywhere.')
})

const endpoint = z.strictObject({
  url: z.string().describe('https and port 443 under the egress policy `public`.'),
  method: z.literal('POST').optional().describe('The only one so far.'),
  headers: z.record(z.string(), z.string()).optional().describe('Sent with every call.'),
  payload: z.enum(['envelope', 'args']).optional().describe('`args`: the body is the arguments alone. `envelope`.'),
  timeout_ms: z.int().min(100).max(120_000).optional().describe('Of the whole call. 15000.'),
  max_request_bytes: z.int().min(1).max(1_048_576).optional().describe('262144.'),
  max_response_bytes: z.int().min(1).max(1_048_576).optional().describe('1048576.'),
  egress_policy: z.string().optional().describe('`internal` needs role admin. `public`.'),
  on_disconnect: z
    .enum(['abort', 'finish'])
    .optional()
    .describe('When the client leaves. `finish` if read_only is false or destructive is true, else `abort`.')
})

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), secret: secret.optional() }),
  z.strictObject({ type: z.literal('header'), name: z.string(), secret: secret.optional() })
])

const augment = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^(?!__proto__$)[a-zA-Z_][a-zA-Z0-9_-]{0,62}$/)
        .describe('No argument of the tool.'),
      description: z.string().max(1024).optional().describe('What the model reads.'),
      schema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema, not enforced. {"type": "string"}.'),
      required: z.boolean().optional().describe('Asked for with every call; a missing one is no error. true.'),
      forward: z.boolean().optional().describe('The tool gets the value too. false.')
    })
  )
  .max(16)
  .refine(fields => new Set(fields.map(({ name }) => name)).size === fields.length, 'two fields have one name')

const optional = {
  kind: z.literal('webhook').optional().describe('The only one that is registered.'),
  title: z.string().optional().describe('At most 1,024 characters.'),
  description: z.string().optional().describe('What the model reads. At most 1,024 characters.'),
  input_schema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema 2020-12, or draft-07 by $schema.'),
  output_schema: z.record(z.string(), z.unknown()).optional().describe('JSON results must fit it.'),
  annotations: annotations.optional().describe('Hints; they never lower a rule.'),
  group: z.string().min(1).max(64).optional().describe('A search can be kept to one group.'),
  always_visible: z.boolean().optional().describe('Offered without being searched for.'),
  sequential: z.boolean().optional().describe('Never run beside other calls.'),
  return_direct: z.boolean().optional().describe('Its result is the answer, if that holds for all calls of a batch.'),
  augment: augment.optional().describe("Arguments the model is asked for beside the tool's own; [] = none."),
  allow_roles: z.array(z.string().min(1)).optional().describe('Roles that may use it; [] = all.'),
  auth: auth.optional().describe('What the endpoint is shown besides the signature.'),
  context: z
    .strictObject({ allow: z.array(z.string()).optional().describe('Keys; [] = none.') })
    .optional()
    .describe('Keys of loopgate.context.'),
  limits: z
    .strictObject({
      per_turn: z.int().min(-1).optional().describe('Calls in one turn; -1 = no limit.'),
      concurrency: z.int().min(1).max(1000).optional().describe('Calls at the same time. 8.'),
      identical: z.int().min(-1).optional().describe('Calls with the same arguments in one turn; -1 = no limit.')
    })
    .optional()
    .describe('Limits of this tool.'),
  result: z
    .strictObject({
      max_model_bytes: z.int().min(64).max(1_048_576).optional().describe('What the model sees is cut to this. 16000.')
    })
    .optional()
    .describe('What becomes of its answers.')
}

/** What may be sent to register a tool. Every field that is not here is refused, never ignored. */
export const toolBody = z
  .strictObject({
    name: z.string().describe('^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$'),
    ...optional,
    endpoint: endpoint.describe('Where and how it is called.'),
    signing: z
      .strictObject({ secret: z.string().describe('whsec_ and 24 to 64 bytes in base64.') })
      .optional()
      .describe('In the configuration file only.'),
    tenant: z.string().min(1).max(128).optional().describe('Role admin only; default: the tenant of the key.')
  })
  .meta({ id: 'ToolRegistration' })

export type ToolBody = z.output<typeof toolBody>

const { auth: _ofOneTool, ...shared } = optional

/**
 * `tool_defaults` of the file: any field that does not name one tool. A credential does: as a default it would go to
 * whatever address a tenant registers.
 */
export const toolDefaults = z.strictObject({
  ...shared,
  endpoint: endpoint.omit({ url: true }).partial().optional().describe('How it is called.')
})

export type ToolDefaults = z.output<typeof toolDefaults>
