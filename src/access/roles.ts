/** The roles that routes know (contract §9.1). Any other word may be a role too, for `allow_roles` of tools. */
export const ROLES = ['chat', 'tool-admin', 'approver', 'auditor', 'metrics', 'admin'] as const

/** Has every role, also those that exist only in the `allow_roles` of a tool. */
export const everyRole: ReadonlySet<string> = Object.assign(new Set<string>(ROLES), { has: () => true })
