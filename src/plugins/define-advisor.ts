import type { Answer, Fields } from '../core/chat.ts'
import type { Model, Turn } from '../core/turn.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** Wraps a model, around the loop or inside it. */
export interface AdvisorPlugin<O = Fields> {
  /** By which a list of `chain` names it: lower case letters, digits and dashes. */
  readonly name: string
  /** The lists it may stand in: `turn`, once a turn; `call`, every round. */
  readonly places: readonly ('turn' | 'call')[]
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
  /** Called once, at start. A throw keeps the gateway from starting. */
  create(options: O, services: PluginServices): (turn: Turn, next: Model) => Promise<Answer>
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineAdvisor<O = Fields>(plugin: AdvisorPlugin<O>): AdvisorPlugin<O> {
  return plugin
}
