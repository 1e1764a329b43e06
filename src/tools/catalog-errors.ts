/** What the catalog says no with. */
import { GatewayError } from '../core/errors.ts'
import type { ToolEntry } from './tool-entry.ts'

/** One answer for a tool that is not there and for one of somebody else. */
export function noSuchTool(name: string): GatewayError {
  return new GatewayError('not_found', `There is no tool named ${name.slice(0, 64)}.`)
}

export function noSuchPlace(): GatewayError {
  return new GatewayError('invalid_request', 'cursor must be a next_cursor of this list.', { param: 'cursor' })
}

export function noSuchTenant(tenant: string): GatewayError {
  const message = `No key has the tenant ${tenant.slice(0, 64)}: nobody could use the tool; name the tenant of a key.`
  return new GatewayError('invalid_request', message, { param: 'tenant' })
}

export function nameTaken(name: string): GatewayError {
  return new GatewayError('tool_name_taken', `There is a tool named ${name} already; names are equal ignoring case.`, {
    ...{ param: 'name', reason: 'collision' }
  })
}

export function secretMissing(): GatewayError {
  return new GatewayError('invalid_request', 'auth.secret is missing; a credential cannot be empty.', {
    param: 'auth.secret'
  })
}

export function renamed({ definition }: ToolEntry): GatewayError {
  const message = `name must be ${definition.name}: a tool keeps its name; register another one instead.`
  return new GatewayError('invalid_request', message, { param: 'name' })
}

export function declaredInFile(name: string): GatewayError {
  return new GatewayError(
    'declared_in_file',
    `The tool ${name} is declared in the configuration file; change it there.`
  )
}

export function staleVersion({ definition, version }: ToolEntry): GatewayError {
  return new GatewayError('version_conflict', `The tool ${definition.name} is at version ${version}; read it again.`)
}
