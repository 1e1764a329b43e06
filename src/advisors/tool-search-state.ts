import { ownerOf } from '../core/owner-of.ts'
import type { Turn } from '../core/turn.ts'
import type { SessionStore } from '../stores/contracts.ts'

/** What of the store tool search needs. */
export type SearchStore = Pick<SessionStore, 'get' | 'reveal' | 'decideSearch'>

interface Begin {
  readonly on: boolean
  /** `auto` was decided for a session of which nothing is stored yet. */
  readonly unwritten: boolean
  readonly revealed: readonly string[]
  readonly lastFound: readonly string[]
}

/**
 * What a session has found, as far as one turn needs it: read from the store when the turn begins, then kept in step.
 * Names only; whether such a tool is attached now is for every round to see.
 */
export class SearchState {
  readonly on: boolean
  readonly turnId: string
  readonly #store: SearchStore
  #unwritten: boolean
  readonly #revealed: Set<string>
  /** What is offered when findings add up: revealed tools and chosen ones in the order in which they came. */
  readonly #order: Set<string>
  readonly #chosen = new Set<string>()
  /** What the latest round that searched has found. */
  #latest: { readonly round: number; readonly names: readonly string[] }

  private constructor(store: SearchStore, turnId: string, { on, unwritten, revealed, lastFound }: Begin) {
    this.on = on
    this.turnId = turnId
    this.#store = store
    this.#unwritten = unwritten
    this.#revealed = new Set(revealed)
    this.#order = new Set(revealed)
    this.#latest = { round: 0, names: lastFound }
  }

  /** `isLarge`: what `auto` comes to where the session has not settled it. A session just made up is not looked for. */
  static async of(store: SearchStore, turn: Turn, isLarge: () => boolean): Promise<SearchState> {
    const { session, policy } = turn
    // A turn that goes on has a session, also where its client never named it.
    const isKnown = session.named || turn.resumes !== undefined
    const info = isKnown ? await store.get(session.key) : undefined
    const found = { revealed: info?.revealed ?? [], lastFound: info?.lastFound ?? [] }
    if (policy.toolSearch.mode !== 'auto')
      return new SearchState(store, turn.id, { on: true, unwritten: false, ...found })

    const computed = isLarge() ? 'on' : 'off'
    const settled = session.named
      ? (info?.searchMode ?? (await store.decideSearch(session, ownerOf(turn.principal), computed)))
      : computed
    return new SearchState(store, turn.id, { on: settled === 'on', unwritten: !session.named, ...found })
  }

  /** Names to offer, in order. `chosen` are those that `tool_choice` names; they stay for the turn. */
  offered({ policy }: Turn, chosen: readonly string[]): readonly string[] {
    for (const name of chosen) {
      this.#chosen.add(name)
      this.#order.add(name)
    }
    if (policy.toolSearch.accumulate) return [...this.#order]
    return [...new Set([...this.#latest.names, ...this.#chosen])]
  }

  /** Keeps what a search of this round has found; it is in the store when this resolves. */
  async reveal(turn: Turn, names: readonly string[]): Promise<void> {
    const fresh = names.filter(name => !this.#revealed.has(name))
    for (const name of fresh) {
      this.#revealed.add(name)
      this.#order.add(name)
    }
    const { accumulate } = turn.policy.toolSearch
    if (!accumulate) this.#addLatest(turn.round, names)
    // A session in which nothing was ever found stays unwritten.
    if (fresh.length === 0 && (accumulate || this.#revealed.size === 0)) return

    await Promise.all(this.#write(turn, fresh, accumulate ? undefined : this.#latest.names))
    if (fresh.length > 0) turn.tell({ type: 'revealed', names: fresh })
  }

  /** Called at once and in the order of the calls, so that the store has the order in which tools are offered. */
  #write(turn: Turn, fresh: readonly string[], lastFound: readonly string[] | undefined): Promise<unknown>[] {
    const owner = ownerOf(turn.principal)
    const decided = this.#unwritten ? [this.#store.decideSearch(turn.session, owner, 'on')] : []
    this.#unwritten = false
    return [...decided, this.#store.reveal(turn.session, owner, fresh, lastFound)]
  }

  #addLatest(round: number, names: readonly string[]): void {
    const before = this.#latest.round === round ? this.#latest.names : []
    this.#latest = { round, names: [...new Set([...before, ...names])] }
  }
}
