import type { Tool } from './chat.ts'

/** What running a tool twice would do (contract §14). What nobody vouches for may not be done twice, whoever's code it is. */
export function effectOf(tool: Tool | undefined): 'read' | 'idempotent' | 'write' {
  const { readOnly, idempotent, destructive } = tool?.annotations ?? {}
  if (readOnly && !destructive) return 'read'
  return idempotent ? 'idempotent' : 'write'
}
