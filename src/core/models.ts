import type { Model } from './turn.ts'

/** Every model a client can name, behind one: it goes by `turn.prompt.model`. */
export interface Models {
  readonly chat: Model
  /** Alias, `provider/model`, or a pattern of a provider; `undefined`: there is no such model. */
  resolve(name: string): Target | undefined
  /** What can be listed: aliases and exact names. `created` in seconds since the epoch. */
  list(): readonly ListedModel[]
}

export interface Target {
  readonly provider: string
  /** The provider's own name of it. */
  readonly model: string
}

export interface ListedModel {
  readonly id: string
  readonly ownedBy: string
  readonly created: number
}
