import { LRUCache } from 'lru-cache'
import type { Tool } from '../../core/chat.ts'
import type { IndexKind, Searchable } from '../../core/finder.ts'
import type { ToolIndex } from './tool-index.ts'
import { toolSetKey } from './tool-set-key.ts'

export interface IndexCacheOptions {
  /** Indexes kept; the one unused for longest goes first. */
  readonly max: number
  /** Bytes of all indexes kept, as estimated. Default 256 MiB. */
  readonly maxBytes?: number | undefined
  readonly build: (kind: IndexKind, tools: readonly Searchable[]) => ToolIndex
  readonly onBuild?: (() => void) | undefined
}

/** One index per distinct tool set, whoever asks and through whichever map of tools. */
export interface IndexCache {
  /** Of the tools that have `run`. */
  take(tools: ReadonlyMap<string, Tool>, kind: IndexKind): ToolIndex
  readonly size: number
}

const DEFAULT_BYTES = 268_435_456

/** Keeps what was built until there is no room for it. */
export function indexCache({ max, maxBytes = DEFAULT_BYTES, build, onBuild }: IndexCacheOptions): IndexCache {
  const indexes = new LRUCache<string, ToolIndex>({
    max,
    maxSize: maxBytes,
    // One that is larger than all the room takes all of it: building it again every turn would be worse.
    sizeCalculation: ({ bytes }) => Math.min(bytes + 1, maxBytes)
  })
  // The catalog answers with the same map while nothing changes: then there is nothing to hash.
  const keys = new WeakMap<ReadonlyMap<string, Tool>, string>()
  const keyOf = (tools: ReadonlyMap<string, Tool>): string => {
    const key = keys.get(tools) ?? toolSetKey(searched(tools))
    keys.set(tools, key)
    return key
  }
  return {
    take(tools, kind) {
      const key = `${kind} ${keyOf(tools)}`
      const known = indexes.get(key)
      if (known) return known
      const built = build(kind, searched(tools))
      indexes.set(key, built)
      onBuild?.()
      return built
    },
    get size() {
      return indexes.size
    }
  }
}

function searched(tools: ReadonlyMap<string, Tool>): Tool[] {
  return [...tools.values()].filter(({ run }) => run !== undefined)
}
