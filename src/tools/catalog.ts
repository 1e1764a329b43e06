/** All tools the gateway runs: those of the file for every tenant, those registered over the API for their own. */
import { createHmac } from 'node:crypto'
import type { Tool } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Log, Turn } from '../core/turn.ts'
import type { Egress } from '../egress/guarded-dispatchers.ts'
import { newSigningSecret } from '../egress/signing.ts'
import type { Page, ToolRow, ToolStore } from '../stores/contracts.ts'
import {
  declaredInFile,
  nameTaken,
  noSuchPlace,
  noSuchTenant,
  noSuchTool,
  renamed,
  secretMissing,
  staleVersion
} from './catalog-errors.ts'
import type { ToolDefaults, ToolDefinition } from './definition.ts'
import { type Admitted, admitTool, flagsOf } from './registration.ts'
import { type SecretScan, secretScan } from './secret-scan.ts'
import { type EntryFields, type ToolEntry, type ToolSecrets, toolEntry } from './tool-entry.ts'
import { type Attached, isAdmin, mayManage, mayUse } from './tool-rights.ts'
import { readRow, rowOf, type SecretVault } from './tool-row.ts'
import { type ToolShelf, toolShelf } from './tool-shelf.ts'
import { type ToolView, toolView } from './tool-view.ts'
import type { WebhookServices } from './webhook.ts'

export interface CatalogOptions {
  readonly store: ToolStore
  readonly vault: SecretVault
  readonly egress: Egress
  /** Names of the gateway's own tools. */
  readonly reserved: readonly string[]
  readonly defaults?: ToolDefaults
  /** Those there are; absent: any. */
  readonly tenants?: ReadonlySet<string>
  readonly log: Log
  /** A call was refused by the egress guard. */
  readonly onBlocked?: () => void
}

export interface Registered {
  readonly name: string
  readonly version: number
  readonly state: ToolRow['state']
  /** At registration only: nobody can read it later. */
  readonly signing?: { readonly secret: string }
  readonly flags: readonly string[]
}

export interface Catalog {
  /**
   * What the principal may use of what the request attached: tools of the file in their order, then the tenant's in
   * order of registration. The same `Map` for the same answer, as long as no tool of it has changed.
   */
  toolsFor(principal: Principal, attached?: Attached): ReadonlyMap<string, Tool>
  /** Tools the principal may use; who may change tools sees all of the tenant, with their settings. */
  list(principal: Principal, page: { readonly limit: number; readonly cursor?: string | undefined }): Page<ToolView>
  get(principal: Principal, name: string): ToolView
  register(principal: Principal, body: unknown): Promise<Registered>
  /** A new version. `ifMatch`: refused with `version_conflict` when the tool is not at that version. */
  replace(principal: Principal, name: string, body: unknown, ifMatch?: number): Promise<Registered>
  /** Adds tools of the file. Throws for the first that is not right; `param` begins with `tools[i]`. */
  declare(bodies: readonly unknown[]): void
  /** Every name there is, for labels of metrics. */
  names(): ReadonlySet<string>
}

export async function catalog(options: CatalogOptions): Promise<Catalog> {
  const shelf = toolShelf()
  const pseudonymKey = options.vault.derive('pseudonym')
  const leaks = leakScans(shelf)

  const entryOf = (fields: EntryFields, tenant: string | undefined): ToolEntry => {
    const services: WebhookServices = {
      egress: options.egress,
      leaks,
      pseudonym: (of, id) => {
        const digest = createHmac('sha256', pseudonymKey)
          .update(JSON.stringify([of, id]))
          .digest('base64url')
        return `ps_${digest.slice(0, 22)}`
      },
      onBlocked: (tool, turn) => blocked(options, tool, turn),
      onGone: () => disable(entry, tenant)
    }
    const entry = toolEntry(fields, services)
    return entry
  }

  /** The endpoint said 410: the tool is out at once, and stays out until somebody changes it. */
  const disable = (entry: ToolEntry, tenant: string | undefined): void => {
    const { name } = entry.definition
    if (shelf.find(tenant ?? '', name)?.tool !== entry.tool) return
    shelf.put({ ...entry, state: 'disabled' }, tenant)
    options.log.warn({ event: 'tool.disabled', tool: name, tenant, reason: 'tool.disabled_by_endpoint' })
    if (tenant === undefined) return
    options.store.setState(tenant, name, 'disabled').catch((error: unknown) => {
      options.log.error({ event: 'store.error', op: 'tools.setState', error: String(error) })
    })
  }

  for (const tenant of await options.store.tenants()) {
    for (const row of await options.store.list(tenant)) shelf.put(entryOf(readRow(row, options.vault), tenant), tenant)
  }

  const write = async (fields: EntryFields, tenant: string): Promise<ToolEntry> => {
    await options.store.put(rowOf(fields, tenant, options.vault), fields.version - 1)
    const entry = entryOf(fields, tenant)
    shelf.put(entry, tenant)
    const flags = flagsOf(fields.definition)
    const { name } = fields.definition
    if (flags.length > 0) options.log.warn({ event: 'security.flagged_description', tool: name, tenant, flags })
    return entry
  }

  /** Credentials cannot be read back: who sends none, keeps the one there is. */
  const keptAuth = (principal: Principal, name: string, body: { readonly tenant?: unknown }) => {
    const tenant = isAdmin(principal) && typeof body.tenant === 'string' ? body.tenant : principal.tenant
    const before = shelf.find(tenant, name)
    return before?.definition.name === name && { auth: before.definition.auth }
  }

  return {
    toolsFor: (principal, attached = {}) => shelf.toolsFor(principal, attached),
    names: () => shelf.names(),

    list(principal, { limit, cursor }) {
      const seen = shelf.of(principal.tenant).filter(entry => isSeen(principal, entry))
      const from = cursor === undefined ? 0 : seen.findIndex(({ definition }) => definition.name === cursor) + 1
      if (cursor !== undefined && from === 0) throw noSuchPlace()
      const some = seen.slice(from, from + limit)
      const last = from + limit < seen.length ? some.at(-1)?.definition.name : undefined
      const data = some.map(entry => toolView(entry, mayManage(principal) ? 'full' : 'user'))
      return { data, ...(last !== undefined && { nextCursor: last }) }
    },

    get(principal, name) {
      const entry = shelf.find(principal.tenant, name)
      if (entry?.definition.name !== name || !isSeen(principal, entry)) throw noSuchTool(name)
      return toolView(entry, mayManage(principal) ? 'full' : 'user')
    },

    async register(principal, body) {
      const admitted = admitTool(body, isAdmin(principal) ? 'admin' : 'tool-admin', options)
      const tenant = tenantOf(principal, admitted.tenant, options)
      const { definition, secrets } = admitted
      if (shelf.find(tenant, definition.name) !== undefined) throw nameTaken(definition.name)
      if (definition.auth.type !== 'none' && secrets.auth === undefined) throw secretMissing()
      const kept = secretsOf(secrets.auth, { signing: newSigningSecret(), signingAt: new Date().toISOString() })
      const state = isAdmin(principal) ? 'active' : 'pending_verification'
      const entry = await write(apiFields(definition, { version: 1, state, secrets: kept }), tenant)
      return { ...registered(entry), signing: { secret: kept.signing } }
    },

    async replace(principal, name, body, ifMatch) {
      const named =
        typeof body === 'object' && body !== null ? { name, ...keptAuth(principal, name, body), ...body } : body
      const admitted = admitTool(named, isAdmin(principal) ? 'admin' : 'tool-admin', options)
      const { definition } = admitted
      const tenant = tenantOf(principal, admitted.tenant, options)
      const before = shelf.find(tenant, name)
      if (before?.definition.name !== name) throw noSuchTool(name)
      if (definition.name !== before.definition.name) throw renamed(before)
      if (before.source === 'file') throw declaredInFile(name)
      if (ifMatch !== undefined && ifMatch !== before.version) throw staleVersion(before)
      const secrets = keptSecrets(before, admitted)
      const state = stateAfter(principal, before, definition)
      const entry = await write(apiFields(definition, { version: before.version + 1, state, secrets }), tenant)
      return registered(entry)
    },

    declare(bodies) {
      for (const [at, body] of bodies.entries()) {
        const fields = within(`tools[${at}]`, () => declaredFields(body, options))
        if (shelf.isDeclared(fields.definition.name)) {
          const param = `tools[${at}].name`
          throw new GatewayError('tool_name_taken', `${param} is the name of another tool of the file.`, { param })
        }
        shelf.put(entryOf(fields, undefined), undefined)
      }
    }
  }
}

function isSeen(principal: Principal, entry: ToolEntry): boolean {
  return mayManage(principal) || mayUse(principal, entry)
}

function blocked({ log, onBlocked }: CatalogOptions, tool: string, turn: Turn): void {
  log.warn({ event: 'security.egress_blocked', tool, tenant: turn.principal.tenant, turn: turn.id })
  onBlocked?.()
}

/** One scan a tenant, made again when its tools have changed. */
function leakScans(shelf: ToolShelf): (tenant: string) => SecretScan {
  const scans = new Map<string, { readonly at: number; readonly scan: SecretScan }>()
  return tenant => {
    const known = scans.get(tenant)
    if (known?.at === shelf.changes) return known.scan
    const secrets = shelf.of(tenant).flatMap(({ secrets: { signing, auth } }) => (auth ? [signing, auth] : [signing]))
    const scan = secretScan(secrets)
    scans.set(tenant, { at: shelf.changes, scan })
    return scan
  }
}

function declaredFields(body: unknown, options: CatalogOptions): EntryFields {
  const { definition, secrets } = admitTool(body, 'file', options)
  if (definition.auth.type !== 'none' && secrets.auth === undefined) throw secretMissing()
  const signingAt = new Date().toISOString()
  // Without a secret in the file calls are still signed: by one that is the same on every start, and nobody's.
  const derived = (): string => `whsec_${options.vault.derive(`signing:${definition.name}`).toString('base64')}`
  const kept = secretsOf(secrets.auth, { signing: secrets.signing ?? derived(), signingAt })
  return { definition, version: 1, state: 'active', source: 'file', createdAt: Date.now(), secrets: kept }
}

function apiFields(definition: ToolDefinition, rest: Pick<EntryFields, 'version' | 'state' | 'secrets'>): EntryFields {
  return { definition, ...rest, source: 'api', createdAt: Date.now() }
}

function secretsOf(auth: string | undefined, signing: Pick<ToolSecrets, 'signing' | 'signingAt'>): ToolSecrets {
  return { ...signing, ...(auth !== undefined && { auth, authAt: new Date().toISOString() }) }
}

/** A credential goes to the address it was given for, and nowhere else. */
function keptSecrets(before: ToolEntry, { definition, secrets }: Admitted): ToolSecrets {
  const { signing, signingAt, auth, authAt } = before.secrets
  if (definition.auth.type === 'none') return { signing, signingAt }
  if (secrets.auth !== undefined) return secretsOf(secrets.auth, { signing, signingAt })
  const same =
    definition.endpoint.url === before.definition.endpoint.url && definition.auth.type === before.definition.auth.type
  if (!same || auth === undefined) {
    throw new GatewayError(
      'credential_must_be_resupplied',
      'The address or the kind of credential has changed: give auth.secret again.',
      { param: 'auth.secret', reason: 'credential_must_be_resupplied' }
    )
  }
  return { signing, signingAt, auth, ...(authAt !== undefined && { authAt }) }
}

function stateAfter(principal: Principal, before: ToolEntry, definition: ToolDefinition): ToolRow['state'] {
  if (isAdmin(principal)) return 'active'
  const moved = definition.endpoint.url !== before.definition.endpoint.url
  return moved || before.state === 'pending_verification' ? 'pending_verification' : 'active'
}

function tenantOf(principal: Principal, tenant: string | undefined, { tenants }: CatalogOptions): string {
  if (tenant === undefined || tenant === principal.tenant) return principal.tenant
  if (isAdmin(principal)) {
    if (tenants?.has(tenant) === false) throw noSuchTenant(tenant)
    return tenant
  }
  throw new GatewayError('role_required', 'Only the role admin may name another tenant.', { param: 'tenant' })
}

function registered({ definition, version, state }: ToolEntry): Registered {
  return { name: definition.name, version, state, flags: flagsOf(definition) }
}

/** Errors of one tool of the file name its place there. */
function within<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const param = error.detail.param === undefined ? place : `${place}.${error.detail.param}`
    throw new GatewayError(error.code, error.message, { ...error.detail, param })
  }
}
