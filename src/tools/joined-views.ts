import type { Tool } from '../core/chat.ts'
import { ownParameters } from '../core/own-parameters.ts'
import type { Principal } from '../core/principal.ts'
import type { Catalog } from './catalog.ts'
import type { JoinedTools } from './joined-tools.ts'
import type { ToolView } from './tool-view.ts'

/** The tools as they are shown over the API: those of the catalog, then those of plugins. */
export type JoinedViews = Pick<Catalog, 'list' | 'get' | 'register' | 'replace'> & Pick<JoinedTools, 'refresh'>

/** `joined`: of the same catalog. */
export function joinedViews(catalog: Catalog, joined: JoinedTools): JoinedViews {
  const since = new Date().toISOString()
  const added = (principal: Principal): readonly ToolView[] => {
    const registered = catalog.toolsFor(principal)
    const others = [...joined.toolsFor(principal).values()].filter(tool => registered.get(tool.name) !== tool)
    return others.map(tool => viewOf(tool, since))
  }
  return {
    register: (principal, body) => catalog.register(principal, body),
    replace: (principal, name, body, ifMatch) => catalog.replace(principal, name, body, ifMatch),
    refresh: async principal => joined.refresh?.(principal),
    get: (principal, name) => added(principal).find(view => view.name === name) ?? catalog.get(principal, name),
    list(principal, { limit, cursor }) {
      const more = added(principal)
      const at = more.findIndex(({ name }) => name === cursor)
      const page = at === -1 ? catalog.list(principal, { limit, cursor }) : { data: [] }
      if (page.nextCursor !== undefined) return page
      const rest = more.slice(at + 1)
      const data = [...page.data, ...rest].slice(0, limit)
      const isAll = data.length === page.data.length + rest.length
      const last = isAll ? undefined : data.at(-1)?.name
      return { data, ...(last !== undefined && { nextCursor: last }) }
    }
  }
}

function viewOf(tool: Tool, createdAt: string): ToolView {
  const { readOnly, destructive, idempotent } = tool.annotations ?? {}
  return {
    ...{ name: tool.name, version: 1, kind: 'builtin', state: 'active', source: 'plugin', created_at: createdAt },
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: ownParameters(tool) ?? {},
    annotations: {
      ...(readOnly !== undefined && { read_only: readOnly }),
      ...(destructive !== undefined && { destructive }),
      ...(idempotent !== undefined && { idempotent })
    },
    ...(tool.group !== undefined && { group: tool.group })
  }
}
