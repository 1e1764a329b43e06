import { LRUCache } from 'lru-cache'
import type { Tool } from '../../core/chat.ts'
import type { IndexKind, Searchable, ToolFinder, ToolView } from '../../core/finder.ts'
import { ownValue } from '../../core/own-value.ts'
import { indexCache } from './index-cache.ts'
import { buildIndex, type ToolIndex } from './tool-index.ts'

export interface ToolFinderOptions {
  readonly kind: IndexKind
  /** Kinds beside the built-in ones, by name. */
  readonly plugged?: Readonly<Record<string, (tools: readonly Searchable[]) => ToolIndex>> | undefined
  readonly views: {
    /** Sessions with a view; 0 = none after a turn, -1 = any number. */
    readonly max: number
    /** Milliseconds without use after which a view goes. Absent: never. */
    readonly ttlMs?: number | undefined
  }
  /** Distinct indexes kept. */
  readonly maxIndexes: number
  /** Bytes of all indexes kept. Default 256 MiB. */
  readonly indexMemoryBytes?: number | undefined
  readonly onBuild?: () => void
  readonly onEvict?: (reason: Reason) => void
  /** Told after every change of either. */
  readonly onSize?: (size: { readonly indexes: number; readonly views: number }) => void
}

const MIN_SWEEP_MS = 10
const MAX_SWEEP_MS = 60_000

/** A finder that ends. */
export interface OwnedToolFinder extends ToolFinder {
  /** Stops the timer and drops all views, uncounted. */
  close(): void
}

/**
 * Finds tools by words: one index per distinct tool set, and per session a view, which is only the key to it. So a
 * view costs next to nothing, and evicting it loses nothing that the next turn would not find again.
 */
export function toolFinder(options: ToolFinderOptions): OwnedToolFinder {
  const { kind, views: bounds, onEvict, onSize } = options
  const build = builderOf(options)
  const indexes = indexCache({
    max: options.maxIndexes,
    maxBytes: options.indexMemoryBytes,
    build,
    onBuild: options.onBuild
  })
  const views = viewCache(bounds, reason => onEvict?.(reason))
  const changed = (): void => onSize?.({ indexes: indexes.size, views: views.size })
  const timer = bounds.ttlMs === undefined ? undefined : setInterval(sweep, sweepEvery(bounds.ttlMs)).unref()

  function sweep(): void {
    if (views.purgeStale()) changed()
  }
  function take(tools: ReadonlyMap<string, Tool>, wanted: IndexKind): ToolView {
    const before = indexes.size
    const index = indexes.take(tools, wanted)
    if (indexes.size !== before) changed()
    return index
  }
  function drop(sessionKey: string, reason: Reason): boolean {
    if (!views.delete(sessionKey)) return false
    onEvict?.(reason)
    changed()
    return true
  }
  return {
    kind,
    index: (tools, wanted = kind) => take(tools, wanted),
    build: (tools, wanted = kind) => build(wanted, [...tools]),
    view(sessionKey, tools) {
      const index = take(tools, kind)
      // Reading it makes it the one used last.
      if (views.get(sessionKey) === undefined) {
        views.set(sessionKey, true)
        changed()
      }
      return index
    },
    evict: drop,
    release(sessionKey) {
      if (bounds.max === 0) drop(sessionKey, 'lru')
    },
    close() {
      clearInterval(timer)
      views.clear()
    }
  }
}

function builderOf({ plugged = {} }: ToolFinderOptions) {
  return (kind: IndexKind, tools: readonly Searchable[]): ToolIndex => {
    const own = ownValue(plugged, kind)
    return own === undefined ? buildIndex(kind === 'regex' ? 'regex' : 'lexical', tools) : own(tools)
  }
}

type Reason = 'lru' | 'ttl' | 'api'

function viewCache({ max, ttlMs }: ToolFinderOptions['views'], onEvict: (reason: Reason) => void) {
  return new LRUCache<string, true>({
    // Counted as a size: as `max` the package would lay out arrays for all of them at once.
    maxSize: max > 0 ? max : Number.MAX_SAFE_INTEGER,
    sizeCalculation: () => 1,
    ...(ttlMs !== undefined && { ttl: ttlMs, updateAgeOnGet: true }),
    dispose: (_view, _key, reason) => {
      if (reason === 'evict') onEvict('lru')
      if (reason === 'expire') onEvict('ttl')
    }
  })
}

/** Often enough that a view outlives its time by a quarter at most, and never busily. */
function sweepEvery(ttlMs: number): number {
  return Math.min(Math.max(ttlMs / 4, MIN_SWEEP_MS), MAX_SWEEP_MS)
}
