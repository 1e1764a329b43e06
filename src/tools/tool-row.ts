import { GatewayError } from '../core/errors.ts'
import type { ToolRow } from '../stores/contracts.ts'
import type { ToolDefinition } from './definition.ts'
import type { EntryFields, ToolSecrets } from './tool-entry.ts'

/** Seals what a row keeps secret; `stores/vault.ts` is one. */
export interface SecretVault {
  seal(owner: { tenant: string; object: string }, fields: Readonly<Record<string, string>>): string
  open(owner: { tenant: string; object: string }, sealed: string): Readonly<Record<string, string>>
  /** 32 bytes, the same for the same purpose on every start. */
  derive(purpose: string): Buffer
}

/** A registered tool as the store keeps it. */
export function rowOf(fields: EntryFields, tenant: string, vault: SecretVault): ToolRow {
  const { definition, version, state, createdAt, secrets } = fields
  const owner = { tenant, object: definition.name }
  return {
    ...{ tenant, name: definition.name, version, state, createdAt },
    definition: JSON.stringify(definition),
    secrets: vault.seal(owner, { ...secrets })
  }
}

/** Throws `store_unavailable` when the row was sealed with another key file, or is another tool's. */
export function readRow(row: ToolRow, vault: SecretVault): EntryFields {
  const { tenant, name, version, state, createdAt } = row
  try {
    const secrets = vault.open({ tenant, object: name }, row.secrets) as unknown as ToolSecrets
    // Rows of earlier versions have no augment.
    const definition: ToolDefinition = { augment: [], ...JSON.parse(row.definition) }
    return { definition, version, state, source: 'api', createdAt, secrets }
  } catch (cause) {
    throw new GatewayError(
      'store_unavailable',
      `The secrets of the tool ${name} of tenant ${tenant} do not open with this key file; name the one they were ` +
        'sealed with as secrets.key_file.',
      { cause }
    )
  }
}
