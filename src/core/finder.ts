import type { Augment, Fields, Tool } from './chat.ts'

/** Finds tools by words. One index per distinct tool set, held by any number of sessions. */
export interface ToolFinder {
  /** The kind of index a view has. */
  readonly kind: IndexKind
  /** The shared index of these tools, of the finder's kind unless another is named; no session holds it. */
  index(tools: ReadonlyMap<string, Tool>, kind?: IndexKind): ToolView
  /** An index of its own over any tools, names and all; nothing of it is kept. */
  build(tools: Iterable<Searchable>, kind?: IndexKind): ToolView
  /** The session's hold on the index of these tools; taken or built now. Only tools with `run` are searched. */
  view(sessionKey: string, tools: ReadonlyMap<string, Tool>): ToolView
  /** Frees the session's view, not its revealed tools; `false` when there was none. */
  evict(sessionKey: string, reason: 'lru' | 'ttl' | 'api'): boolean
  /** Says that the session's turn is over (`views.max: 0` drops the view now). */
  release(sessionKey: string): void
}

/** `lexical`, `regex`, or the name of a plugin's. */
export type IndexKind = string

/** What an index reads of a tool. */
export interface Searchable {
  readonly name: string
  readonly description?: string | undefined
  readonly parameters?: Fields | undefined
  readonly augment?: Augment | undefined
  readonly group?: string | undefined
}

export interface ToolView {
  readonly kind: IndexKind
  /** Groups of its tools, sorted. */
  readonly groups: readonly string[]
  /** Any text of any length answers; never throws. An index of the gateway's own answers at once. */
  search(query: string, options: SearchOptions): Found | Promise<Found>
}

export interface SearchOptions {
  readonly maxResults: number
  /** Only tools of this group. */
  readonly group?: string
}

export interface Found {
  readonly form: 'keywords' | 'names' | 'required' | 'pattern'
  /** Best first. */
  readonly results: readonly Hit[]
}

export interface Hit {
  readonly name: string
  readonly score: number
  readonly matched: readonly ('name' | 'description' | 'parameters')[]
}
