import type { Model } from './turn.ts'

/** All models that the gateway knows, as one. */
export interface Models {
  /** Answers by the model that `turn.prompt.model` names; `''` is the default one. */
  readonly chat: Model
  /** Where a name leads, or `undefined` when it leads nowhere. `model` is the provider's own name for it. */
  resolve(name: string): Target | undefined
  /** The models that have a name of their own, in the order of their declaration. */
  list(): readonly ListedModel[]
}

export interface Target {
  readonly provider: string
  readonly model: string
  /** Kind of the provider, where that is known: `openai`, `sim`. */
  readonly kind?: string
}

export interface ListedModel {
  readonly id: string
  /** The provider's name. */
  readonly ownedBy: string
  /** Seconds since the epoch; when the gateway learned of it. */
  readonly created: number
}
