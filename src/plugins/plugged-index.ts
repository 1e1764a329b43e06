import type { Searchable } from '../core/finder.ts'
import { buildIndex, type ToolIndex } from '../tools/index/tool-index.ts'
import type { BuiltIndex, ToolIndexPlugin } from './define-tool-index.ts'
import { inTime } from './in-time.ts'
import type { PluginServices } from './services.ts'

/** A search waits no longer for a plugin than this, building its index included. */
const SEARCH_MS = 10_000

/**
 * Makes the index of a plugin one that sessions can search. Where it fails, the built-in lexical index answers: a
 * model that is told that nothing was found would believe it.
 */
export function pluggedIndex(
  plugin: ToolIndexPlugin<unknown>,
  { options, services }: { readonly options: unknown; readonly services: PluginServices }
): (tools: readonly Searchable[]) => ToolIndex {
  return tools => {
    const fallback = buildIndex('lexical', tools)
    const groupOf = new Map(tools.map(({ name, group }) => [name, group]))
    let built: Promise<BuiltIndex> | undefined
    const build = (): Promise<BuiltIndex> => {
      const begun = Promise.resolve().then(() => plugin.build(tools, { options, services }))
      // The next search tries again.
      begun.catch(() => (built = undefined))
      return begun
    }
    return {
      kind: plugin.name,
      groups: fallback.groups,
      bytes: fallback.bytes,
      async search(query, { maxResults, group }) {
        try {
          built ??= build()
          const signal = AbortSignal.timeout(SEARCH_MS)
          const found = await inTime(
            Promise.resolve(built).then(index => index.search(query, maxResults)),
            signal
          )
          const fitting = found.filter(
            name => groupOf.has(name) && (group === undefined || groupOf.get(name) === group)
          )
          const names = [...new Set(fitting)].slice(0, maxResults)
          return { form: 'keywords', results: names.map((name, at) => ({ name, score: 1 / (at + 1), matched: [] })) }
        } catch (error) {
          services.log.error(
            { event: 'plugin.index_failed', err: error },
            'a tool index failed; the built-in one answered'
          )
          return fallback.search(query, { maxResults, ...(group !== undefined && { group }) })
        }
      }
    }
  }
}
