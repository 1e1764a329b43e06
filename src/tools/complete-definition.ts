import { completeAugment } from './complete-augment.ts'
import type { ToolBody, ToolDefaults, ToolDefinition } from './definition.ts'
import { DEFAULT_MODEL_BYTES } from './model-text.ts'

/** Fills in what a registration leaves out: from `tool_defaults` of the file, else the contract's defaults (§6.1). */
export function completeDefinition(body: ToolBody, defaults: ToolDefaults): ToolDefinition {
  const annotations = { ...defaults.annotations, ...body.annotations }
  const { title, description, output_schema, group } = { ...defaults, ...body }
  const { secret: _secret, ...auth } = { type: 'none' as const, ...body.auth } as AuthWithSecret
  const writes = annotations.read_only === false || annotations.destructive === true
  return {
    name: body.name,
    kind: 'webhook',
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    input_schema: body.input_schema ?? defaults.input_schema ?? { type: 'object' },
    ...(output_schema !== undefined && { output_schema }),
    annotations,
    ...(group !== undefined && { group }),
    always_visible: body.always_visible ?? defaults.always_visible ?? false,
    sequential: body.sequential ?? defaults.sequential ?? false,
    return_direct: body.return_direct ?? defaults.return_direct ?? false,
    augment: completeAugment(body.augment ?? defaults.augment),
    allow_roles: body.allow_roles ?? defaults.allow_roles ?? [],
    endpoint: {
      ...{ method: 'POST' as const, headers: {}, payload: 'envelope' as const, timeout_ms: 15_000 },
      ...{ max_request_bytes: 262_144, max_response_bytes: 1_048_576, egress_policy: 'public' },
      on_disconnect: writes ? 'finish' : 'abort',
      ...given(defaults.endpoint),
      ...given(body.endpoint),
      url: body.endpoint.url
    },
    auth,
    context: { allow: body.context?.allow ?? defaults.context?.allow ?? [] },
    limits: { concurrency: 8, ...given(defaults.limits), ...given(body.limits) },
    result: { max_model_bytes: DEFAULT_MODEL_BYTES, ...given(defaults.result), ...given(body.result) }
  }
}

type AuthWithSecret = ToolDefinition['auth'] & { readonly secret?: string }

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Only the fields that are there: `undefined` must not hide a default. */
function given<T extends object>(fields: T | undefined): Given<T> {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)) as Given<T>
}
