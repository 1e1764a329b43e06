import { GatewayError } from '../../src/core/errors.ts'
import type { ToolRow, ToolStore } from '../../src/stores/contracts.ts'

/** A tool store in memory, for tests that are about something else. `rows` can be read and changed. */
export function aToolStore(rows: ToolRow[] = []): ToolStore & { rows: ToolRow[] } {
  const find = (tenant: string, name: string) =>
    rows.findLast(row => row.tenant === tenant && row.name.toLowerCase() === name.toLowerCase())
  return {
    rows,
    list: async tenant => rows.filter(row => row.tenant === tenant && find(tenant, row.name) === row),
    tenants: async () => [...new Set(rows.map(({ tenant }) => tenant))],
    get: async (tenant, name) => find(tenant, name),
    async put(row, previousVersion) {
      const before = find(row.tenant, row.name)
      if ((before?.version ?? 0) === previousVersion) rows.push(row)
      else throw new GatewayError(previousVersion === 0 ? 'tool_name_taken' : 'version_conflict', 'Another was faster.')
    },
    async setState(tenant, name, state) {
      const at = rows.findLastIndex(row => row.tenant === tenant && row.name === name)
      const row = rows[at]
      if (row !== undefined) rows[at] = { ...row, state }
    }
  }
}
