import { matchesGlob } from '../core/glob.ts'
import type { Principal } from '../core/principal.ts'
import type { ToolDefinition } from './definition.ts'
import type { ToolEntry } from './tool-entry.ts'

/** The tools a request attached, by names or globs; `allow` absent = all. */
export interface Attached {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/** As much of a tool as rights depend on. */
interface Named {
  readonly definition: Pick<ToolDefinition, 'name'>
}

interface Guarded {
  readonly definition: Pick<ToolDefinition, 'name' | 'allow_roles'>
  readonly state: ToolEntry['state']
}

/** May the principal call the tool (contract §9.1)? */
export function mayUse({ tools, roles }: Principal, { definition, state }: Guarded): boolean {
  const { name, allow_roles } = definition
  if (state !== 'active' || !matchesGlob(name, tools.allow) || matchesGlob(name, tools.deny)) return false
  return allow_roles.length === 0 || allow_roles.some(role => roles.has(role))
}

export function isAttached({ allow, deny }: Attached, { definition }: Named): boolean {
  const { name } = definition
  return (allow === undefined || matchesGlob(name, allow)) && !(deny !== undefined && matchesGlob(name, deny))
}

export function isAdmin({ roles }: Principal): boolean {
  return roles.has('admin')
}

/** May the principal register and change tools of its tenant? */
export function mayManage(principal: Principal): boolean {
  return principal.roles.has('tool-admin') || isAdmin(principal)
}
