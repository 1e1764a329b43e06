import { LRUCache } from 'lru-cache'
import type { Tool } from '../core/chat.ts'
import type { Principal } from '../core/principal.ts'
import { type Attached, isAttached, mayUse } from './tool-rights.ts'

/** A tool that is not in the catalog, and who may use it. */
export interface AddedTool {
  readonly tool: Tool
  /** `[]` = all. */
  readonly allowRoles: readonly string[]
}

export interface JoinedParts {
  /** Hold over tools of the catalog that have their name. */
  readonly tools: readonly AddedTool[]
  /** Tools from elsewhere: those of the catalog hold over them. */
  readonly sources: readonly {
    refresh(principal: Principal): Promise<void>
    toolsFor(principal: Principal): readonly AddedTool[]
  }[]
}

/** What gives a turn its tools. */
interface Attachable {
  toolsFor(principal: Principal, attached?: Attached): ReadonlyMap<string, Tool>
}

export interface JoinedTools extends Attachable {
  /** To be awaited before `toolsFor`, for tools that come from elsewhere. */
  refresh?(principal: Principal): Promise<void>
}

interface Joined {
  readonly base: ReadonlyMap<string, Tool>
  readonly lists: readonly (readonly AddedTool[])[]
  readonly tools: ReadonlyMap<string, Tool>
}

const MAX_JOINED = 2000

/**
 * The catalog's tools and those of plugins, filtered alike by key, roles and request. The same `Map` for the same
 * answer, as indexes are kept by it.
 */
export function joinedTools(catalog: Attachable, { tools: own, sources }: JoinedParts): JoinedTools {
  if (own.length === 0 && sources.length === 0) return catalog
  const kept = new LRUCache<string, Joined>({ max: MAX_JOINED })
  const ownNames = new Set(own.map(({ tool }) => tool.name.toLowerCase()))
  return {
    async refresh(principal) {
      await Promise.all(sources.map(source => source.refresh(principal)))
    },
    toolsFor(principal, attached = {}) {
      const base = catalog.toolsFor(principal, attached)
      const lists = sources.map(source => source.toolsFor(principal))
      const { tenant, key, roles, tools: rights } = principal
      const asked = JSON.stringify([tenant, key, [...roles].sort(), rights.allow, rights.deny, attached])
      const known = kept.get(asked)
      if (known?.base === base && known.lists.every((list, at) => list === lists[at])) return known.tools
      const isUsable = (added: AddedTool): boolean => {
        const definition = { name: added.tool.name, allow_roles: added.allowRoles }
        return mayUse(principal, { definition, state: 'active' }) && isAttached(attached, { definition })
      }
      const tools = join(base, { own: own.filter(isUsable), ownNames, listed: lists.flat().filter(isUsable) })
      kept.set(asked, { base, lists, tools })
      return tools
    }
  }
}

interface Usable {
  readonly own: readonly AddedTool[]
  readonly ownNames: ReadonlySet<string>
  readonly listed: readonly AddedTool[]
}

function join(base: ReadonlyMap<string, Tool>, { own, ownNames, listed }: Usable): ReadonlyMap<string, Tool> {
  const joined = new Map([...base].filter(([name]) => !ownNames.has(name.toLowerCase())))
  const taken = new Set([...ownNames, ...[...joined.keys()].map(name => name.toLowerCase())])
  for (const { tool } of own) joined.set(tool.name, tool)
  for (const { tool } of listed) {
    const name = tool.name.toLowerCase()
    if (taken.has(name)) continue
    taken.add(name)
    joined.set(tool.name, tool)
  }
  return joined
}
