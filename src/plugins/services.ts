import type { Answer, Fields, Message } from '../core/chat.ts'
import type { Log, Turn } from '../core/turn.ts'

/** What a plugin is given by the gateway. Nothing of it is secret. */
export interface PluginServices {
  /** Each line names the plugin. */
  readonly log: Log
  /** A model by the name that clients use: an alias, a model of a provider. Throws when there is none of that name. */
  model(name: string): Ask
}

/**
 * Asks a model these messages, for the turn but outside its loop: no tools, no listener, the request's own settings
 * left out. What it used stands in the run view and metrics; for the client's usage add it to the answer by
 * `withUsageOf(answer, asked)`. Rejects as every model does, with a `GatewayError`.
 */
export type Ask = (turn: Turn, messages: readonly Message[], params?: Fields) => Promise<Answer>
