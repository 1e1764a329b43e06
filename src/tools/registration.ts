import type { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { Egress } from '../egress/guarded-dispatchers.ts'
import { isSigningSecret } from '../egress/signing.ts'
import { admitAugment } from './augment-admission.ts'
import { completeDefinition } from './complete-definition.ts'
import { type ToolBody, type ToolDefaults, type ToolDefinition, toolBody } from './definition.ts'
import { admitHeaders } from './header-admission.ts'
import { admitSchema } from './schema-admission.ts'
import { isCheckable } from './schema-check.ts'
import { givesOrders, shownText } from './shown-text.ts'

export interface AdmissionOptions {
  readonly egress: Pick<Egress, 'policies' | 'judgeUrl'>
  /** Names of the gateway's own tools; `loopgate_*` is always reserved. */
  readonly reserved: readonly string[]
  readonly defaults?: ToolDefaults
}

/** Who declares the tool: the operator in the file (or the demonstration), or somebody over the API. */
export type Declarer = 'file' | 'admin' | 'tool-admin'

export interface Admitted {
  readonly definition: ToolDefinition
  /** As given; a bearer token or header value, and for tools of the file the signing secret. */
  readonly secrets: { readonly auth?: string; readonly signing?: string }
  /** Where an admin wants it. */
  readonly tenant?: string
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$/
const MAX_TEXT = 1024
/** The function by which clients are asked for approval: a tool of this name could pose as it. */
const APPROVAL = 'request_approval'

/**
 * Checks a registration and fills it in (contract §6.1). Throws a `GatewayError` with the field as `param` and the
 * contract's `reason`. Whether the name is free is the catalog's to say.
 */
export function admitTool(body: unknown, declarer: Declarer, options: AdmissionOptions): Admitted {
  const parsed = toolBody.safeParse(body)
  if (!parsed.success) throw malformed(parsed.error.issues[0])
  const { signing, tenant } = parsed.data
  const definition = completeDefinition(cleaned(parsed.data), options.defaults ?? {})
  const secret = credentialIn(parsed.data)
  for (const rule of rules(parsed.data, definition, { declarer, options })) rule()
  return {
    definition,
    secrets: { ...(secret !== undefined && { auth: secret }), ...(signing && { signing: signing.secret }) },
    ...(tenant !== undefined && { tenant })
  }
}

/** Everything that `admitTool` would throw for, one after the other. */
export function toolFaults(body: unknown, declarer: Declarer, options: AdmissionOptions): readonly GatewayError[] {
  const parsed = toolBody.safeParse(body)
  if (!parsed.success) return parsed.error.issues.map(malformed)
  const definition = completeDefinition(cleaned(parsed.data), options.defaults ?? {})
  return rules(parsed.data, definition, { declarer, options }).flatMap(rule => {
    try {
      rule()
      return []
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return [error]
    }
  })
}

interface Admission {
  readonly declarer: Declarer
  readonly options: AdmissionOptions
}

/** Each throws when the tool breaks it. */
function rules(body: ToolBody, definition: ToolDefinition, { declarer, options }: Admission): readonly (() => void)[] {
  return [
    () => admitName(definition.name, options.reserved),
    () => admitPolicy(definition, declarer, options.egress),
    () => admitUrl(definition, declarer, options.egress),
    () => admitHeaders(definition, credentialIn(body)),
    () => admitText(definition, 'title'),
    () => admitText(definition, 'description'),
    () => {
      admitSchemaOf(definition, 'input_schema', declarer)
      admitAugment(definition.augment, definition.input_schema)
    },
    () => admitSchemaOf(definition, 'output_schema', declarer),
    () => admitSigning(body.signing?.secret, declarer)
  ]
}

function credentialIn({ auth }: ToolBody): string | undefined {
  return auth !== undefined && 'secret' in auth ? auth.secret : undefined
}

/** What people should look at before they trust the tool. */
export function flagsOf({ title = '', description = '', input_schema, augment }: ToolDefinition): readonly string[] {
  const schemas = `${JSON.stringify(input_schema)}\n${JSON.stringify(augment)}`
  return givesOrders(`${title}\n${description}\n${schemas}`) ? ['imperative_text'] : []
}

function malformed(issue: z.core.$ZodIssue | undefined): GatewayError {
  const path = (issue?.path ?? []).map(String)
  if (issue?.code === 'unrecognized_keys') {
    const param = [...path, issue.keys[0] ?? ''].join('.')
    return new GatewayError(
      'invalid_request',
      `${param} is not a field of a tool that this version knows; leave it out.`,
      {
        param
      }
    )
  }
  const param = path.join('.')
  const place = param === '' ? 'The registration' : param
  return new GatewayError('invalid_request', `${place} is not right: ${issue?.message ?? 'it cannot be read'}.`, {
    ...(param !== '' && { param })
  })
}

function cleaned(body: ToolBody): ToolBody {
  const { title, description, augment } = body
  return {
    ...body,
    ...(augment && {
      augment: augment.map(field => ({ ...field, description: shownText(field.description ?? '') }))
    }),
    ...(title !== undefined && { title: shownText(title) }),
    ...(description !== undefined && { description: shownText(description) })
  }
}

/** Throws `tool_rejected` for what is no name of a tool, or one that the gateway keeps for itself. */
export function admitName(name: string, reserved: readonly string[]): void {
  if (!NAME.test(name)) {
    throw rejected('charset', 'name', 'name must be 1 to 63 of A-Z a-z 0-9 _ - and begin with a letter or _.')
  }
  const folded = name.toLowerCase()
  if (folded.startsWith('loopgate_') || [APPROVAL, ...reserved].some(each => each.toLowerCase() === folded)) {
    throw rejected('reserved', 'name', `The name ${name} is reserved for the gateway; choose another.`)
  }
}

function admitPolicy({ endpoint }: ToolDefinition, declarer: Declarer, egress: AdmissionOptions['egress']): void {
  const param = 'endpoint.egress_policy'
  if (!hasPolicy(endpoint, declarer, egress)) {
    const names = egress.policies.join(', ')
    throw rejected('egress_policy', param, `There is no egress policy ${endpoint.egress_policy}; there are ${names}.`)
  }
  if (endpoint.egress_policy !== 'public' && declarer === 'tool-admin') {
    throw new GatewayError('role_required', `The egress policy ${endpoint.egress_policy} needs the role admin.`, {
      param
    })
  }
}

function hasPolicy(
  { egress_policy }: ToolDefinition['endpoint'],
  declarer: Declarer,
  { policies }: AdmissionOptions['egress']
): boolean {
  return policies.includes(egress_policy) || (declarer === 'file' && egress_policy === 'demo')
}

function admitUrl({ endpoint }: ToolDefinition, declarer: Declarer, egress: AdmissionOptions['egress']): void {
  // Without a policy there is no rule to judge by; that it is missing is said already.
  if (!hasPolicy(endpoint, declarer, egress)) return
  const refusal = egress.judgeUrl(endpoint.url, endpoint.egress_policy)
  if (refusal === undefined) return
  const { reason, message } = refusal
  throw new GatewayError('tool_url_rejected', `endpoint.url ${message}.`, { param: 'endpoint.url', reason })
}

function admitText(definition: ToolDefinition, param: 'title' | 'description'): void {
  if ((definition[param] ?? '').length <= MAX_TEXT) return
  throw rejected('text_length', param, `${param} must have at most ${MAX_TEXT} characters.`)
}

function admitSchemaOf(definition: ToolDefinition, param: 'input_schema' | 'output_schema', declarer: Declarer): void {
  const schema = definition[param]
  if (schema === undefined) return
  admitSchema(schema, param)
  // A file may have thousands of tools; theirs are compiled when they are first called.
  if (declarer === 'file' || isCheckable(schema)) return
  throw new GatewayError('schema_rejected', `${param} cannot be compiled.`, { param, reason: 'schema_invalid' })
}

function admitSigning(secret: string | undefined, declarer: Declarer): void {
  if (secret === undefined) return
  if (declarer !== 'file') {
    throw rejected('signing', 'signing', 'The signing secret of a registered tool is generated; leave signing out.')
  }
  if (!isSigningSecret(secret)) {
    throw rejected('signing', 'signing.secret', 'signing.secret must be whsec_ and 24 to 64 bytes in base64.')
  }
}

function rejected(reason: string, param: string, message: string): GatewayError {
  return new GatewayError('tool_rejected', message, { param, reason })
}
