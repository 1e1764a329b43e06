/** Who asks. Fixed at the edge; nothing downstream widens it. */
export interface Principal {
  readonly tenant: string
  /** Key id, or `dev`, `anonymous`, `admin`. */
  readonly key: string
  readonly roles: ReadonlySet<string>
  /** Globs of model names; `*` = all. */
  readonly models: readonly string[]
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] }
}

/** The conversation a turn belongs to. */
export interface Session {
  /** The client's name for it, or a fresh `sess_<26>`. */
  readonly id: string
  /** The store's key: a hash over tenant, key and id, so that nobody can name another's session. */
  readonly key: string
  /** False when the gateway made the id up for this request. */
  readonly named: boolean
  /**
   * When the turn took it up, by `performance.now()`: what the turn writes after the session was deleted is not kept.
   * Absent: whenever it is written.
   */
  readonly since?: number
  /** `main`, or the name of the branch that the turn is on; `key` is then that branch's own. */
  readonly branch: string
  /** Key of the session that the branch belongs to. Absent on `main`. */
  readonly root?: string
}
