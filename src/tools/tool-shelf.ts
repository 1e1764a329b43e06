import { LRUCache } from 'lru-cache'
import type { Tool } from '../core/chat.ts'
import type { Principal } from '../core/principal.ts'
import type { ToolEntry } from './tool-entry.ts'
import { type Attached, isAttached, mayUse } from './tool-rights.ts'

/** The tools in memory, by tenant, and the sets of them that turns are given. */
export interface ToolShelf {
  /** Counts changes: what was derived of the shelf is stale when it differs. */
  readonly changes: number
  /** Tools of the file, then the tenant's; one of the tenant with the name of one of the file is left out. */
  of(tenant: string): readonly ToolEntry[]
  /** By name, case ignored. */
  find(tenant: string, name: string): ToolEntry | undefined
  isDeclared(name: string): boolean
  /** Adds a tool or puts another version in its place. No tenant: a tool of the file. */
  put(entry: ToolEntry, tenant: string | undefined): void
  toolsFor(principal: Principal, attached: Attached): ReadonlyMap<string, Tool>
  names(): ReadonlySet<string>
}

type Entries = Map<string, ToolEntry>

export function toolShelf(): ToolShelf {
  const declared: Entries = new Map()
  const registered = new Map<string, Entries>()
  const byRights = new LRUCache<string, ReadonlyMap<string, Tool>>({ max: 2000 })
  // Different rights often come to the same tools, and indexes are kept for each map.
  const byContent = new LRUCache<string, ReadonlyMap<string, Tool>>({ max: 500 })
  let changes = 0
  let names: ReadonlySet<string> | undefined

  const of = (tenant: string): readonly ToolEntry[] => {
    const own = [...(registered.get(tenant)?.entries() ?? [])]
    return [...declared.values(), ...own.filter(([key]) => !declared.has(key)).map(([, entry]) => entry)]
  }

  return {
    get changes() {
      return changes
    },
    of,
    find: (tenant, name) => declared.get(name.toLowerCase()) ?? registered.get(tenant)?.get(name.toLowerCase()),
    isDeclared: name => declared.has(name.toLowerCase()),

    put(entry, tenant) {
      const entries = tenant === undefined ? declared : (registered.get(tenant) ?? new Map())
      if (tenant !== undefined) registered.set(tenant, entries)
      entries.set(entry.definition.name.toLowerCase(), entry)
      changes++
      byRights.clear()
      names = undefined
    },

    toolsFor(principal, attached) {
      const rights = rightsOf(principal, attached)
      const known = byRights.get(rights)
      if (known !== undefined) return known
      const usable = of(principal.tenant).filter(entry => mayUse(principal, entry) && isAttached(attached, entry))
      const content = `${principal.tenant}\n${usable.map(contentOf).join('\n')}`
      const tools = byContent.get(content) ?? new Map(usable.map(({ tool }) => [tool.name, tool]))
      byContent.set(content, tools)
      byRights.set(rights, tools)
      return tools
    },

    names() {
      names ??= new Set([declared, ...registered.values()].flatMap(each => [...each.values()]).map(nameOf))
      return names
    }
  }
}

function rightsOf({ tenant, tools, roles }: Principal, { allow, deny }: Attached): string {
  return JSON.stringify([tenant, tools.allow, tools.deny, [...roles].sort(), allow ?? 0, deny ?? 0])
}

/** A version never changes, so its number stands for all of it. */
function contentOf({ definition, version, source }: ToolEntry): string {
  return `${source} ${version} ${definition.name}`
}

function nameOf({ definition }: ToolEntry): string {
  return definition.name
}
