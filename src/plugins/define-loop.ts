import type { Answer, Fields } from '../core/chat.ts'
import type { RunCalls } from '../core/run-calls.ts'
import type { Model, Turn } from '../core/turn.ts'
import type { OptionsSchema } from './options-schema.ts'
import type { PluginServices } from './services.ts'

/** Stands in place of the gateway's own loop, named in `chain.loop`. */
export interface LoopPlugin<O = Fields> {
  /** Lower case letters, digits and dashes. */
  readonly name: string
  /** Absent: it takes none. */
  readonly options?: OptionsSchema<O>
  /** Called once, at start. Rounds, limits of the whole turn and what the client sees of it are the loop's to keep. */
  create(run: RunCalls, options: O, services: PluginServices): (turn: Turn, next: Model) => Promise<Answer>
}

/** Gives the default export of a plugin module its type; nothing else. */
export function defineLoop<O = Fields>(plugin: LoopPlugin<O>): LoopPlugin<O> {
  return plugin
}
