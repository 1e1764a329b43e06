import type { Message, Usage } from '../core/chat.ts'
import type { SessionStore, StoredSummary, StoredTurn } from '../stores/contracts.ts'

type Needed = Pick<SessionStore, 'get' | 'turns' | 'summary' | 'append' | 'reveal' | 'decideSearch'>

/** The store of one play's only session: what memory and tool search keep, in variables. */
export class Sessions implements Needed {
  /** What models used that an advisor asked beside its own. */
  aside: Usage | undefined
  #kept: readonly StoredTurn[]
  readonly #summary: StoredSummary | undefined
  #revealed: readonly string[] = []
  #lastFound: readonly string[] | undefined
  #searchMode: 'on' | 'off' | undefined

  /** `past`: turns that the session had before. `isSummarised`: they are recalled as a summary. */
  constructor(past: readonly StoredTurn[] = [], isSummarised = false) {
    this.#kept = past
    const last = isSummarised ? past.at(-1) : undefined
    this.#summary = last && { text: 'Sixteen were asked for before.', upTo: last.id }
  }

  /** All turns as they are kept now, oldest first. */
  get kept(): readonly StoredTurn[] {
    return this.#kept
  }

  get: Needed['get'] = async id => ({
    id,
    tenant: 'default',
    keyId: 'dev',
    createdAt: 0,
    lastUsedAt: 0,
    turns: this.#kept.length,
    revealed: this.#revealed,
    branches: [],
    ...(this.#searchMode && { searchMode: this.#searchMode }),
    ...(this.#lastFound && { lastFound: this.#lastFound })
  })

  turns: Needed['turns'] = async (_, statuses, limit, part = 'all', from = 'start') => {
    const covered = from === 'summary' ? this.#kept.findIndex(({ id }) => id === this.#summary?.upTo) : -1
    const found = this.#kept
      .slice(covered + 1)
      .filter(({ status }) => statuses.includes(status))
      .slice(-limit)
    return part === 'all' ? found : found.map(ends)
  }

  summary: Needed['summary'] = async () => this.#summary

  append: Needed['append'] = async (_session, _owner, turn) => {
    this.#kept = [...this.#kept.filter(({ id }) => id !== turn.id && id !== turn.replaces), turn]
  }

  reveal: Needed['reveal'] = async (_session, _owner, names, lastFound) => {
    this.#revealed = [...new Set([...this.#revealed, ...names])]
    if (lastFound) this.#lastFound = lastFound
    return this.#revealed
  }

  decideSearch: Needed['decideSearch'] = async (_session, _owner, mode) => {
    this.#searchMode ??= mode
    return this.#searchMode
  }
}

function ends(turn: StoredTurn): StoredTurn {
  if (turn.status === 'awaiting_client') return turn
  const isEnd = ({ role, id }: Message): boolean => role === 'user' || id === turn.answerId
  return { ...turn, messages: turn.messages.filter(isEnd) }
}
