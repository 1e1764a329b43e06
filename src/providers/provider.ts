import type { Model } from '../core/turn.ts'

/** An upstream. Its model reads `turn.prompt.model` as the upstream's own model name. */
export interface Provider {
  readonly name: string
  readonly kind: 'openai' | 'sim'
  readonly chat: Model
  /** Ends idle connections; resolves when none is left. */
  close(): Promise<void>
}
