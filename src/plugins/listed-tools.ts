import { LRUCache } from 'lru-cache'
import type { Principal } from '../core/principal.ts'
import type { AddedTool } from '../tools/joined-tools.ts'
import { type CodeToolSettings, codeTool } from './code-tool.ts'
import type { CodeTool } from './define-tool.ts'
import type { ToolSourcePlugin } from './define-tool-source.ts'
import { inTime } from './in-time.ts'
import { type ToolRules, toolFault } from './tool-fault.ts'

export type ListedToolsSettings = CodeToolSettings & ToolRules

/** What one source lists, kept for each principal while it holds. */
export interface ListedTools {
  /** Lists anew where the last list does not hold any more. Never rejects: what was listed last stays then. */
  refresh(principal: Principal): Promise<void>
  /** The same array until a new list came. */
  toolsFor(principal: Principal): readonly AddedTool[]
}

interface Shelf {
  tools: readonly AddedTool[]
  /** By `performance.now()`. */
  until: number
  pending: Promise<void> | undefined
}

const MAX_PRINCIPALS = 1000
/** A turn waits no longer for a list. */
const LIST_MS = 10_000
/** After a failure the source is left alone for this long, or for `ttl_ms` where that is shorter. */
const PAUSE_MS = 5000

export function listedTools(source: ToolSourcePlugin<unknown>, settings: ListedToolsSettings): ListedTools {
  const shelves = new LRUCache<string, Shelf>({ max: MAX_PRINCIPALS })
  const { log } = settings.services

  const list = async (principal: Principal, shelf: Shelf): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(LIST_MS)
      const { options, services } = settings
      const listed = await inTime(source.list(principal, { options, services, signal }), signal)
      shelf.tools = admitted(listed, settings)
      shelf.until = performance.now() + source.ttl_ms
    } catch (error) {
      log.warn({ event: 'plugin.list_failed', err: error }, 'a tool source could not list its tools')
      shelf.until = performance.now() + Math.min(source.ttl_ms, PAUSE_MS)
    }
  }
  return {
    async refresh(principal) {
      const key = keyOf(principal)
      const shelf = shelves.get(key) ?? { tools: [], until: Number.NEGATIVE_INFINITY, pending: undefined }
      shelves.set(key, shelf)
      if (performance.now() < shelf.until) return
      shelf.pending ??= list(principal, shelf).finally(() => (shelf.pending = undefined))
      await shelf.pending
    },
    toolsFor: principal => shelves.get(keyOf(principal))?.tools ?? NONE
  }
}

const NONE: readonly AddedTool[] = []

function keyOf({ tenant, key, roles }: Principal): string {
  return JSON.stringify([tenant, key, [...roles].sort()])
}

/** Tools that break the rules of registration are left out, and the log says why. */
function admitted(listed: readonly CodeTool<unknown>[], settings: ListedToolsSettings): readonly AddedTool[] {
  return listed.flatMap(code => {
    const fault = toolFault(code, settings)
    if (fault === undefined) return [{ tool: codeTool(code, settings), allowRoles: code.allow_roles ?? [] }]
    settings.services.log.warn({ event: 'plugin.tool_left_out', tool: String(code.name).slice(0, 64), reason: fault })
    return []
  })
}
