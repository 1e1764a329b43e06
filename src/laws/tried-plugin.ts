import type { Fields, Message, Usage } from '../core/chat.ts'
import { newMessage } from '../core/new-message.ts'
import type { Log } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import type { AdvisorPlugin } from '../plugins/define-advisor.ts'
import type { Ask, PluginServices } from '../plugins/services.ts'
import type { Sessions } from './sessions.ts'
import type { Subject } from './subject.ts'

/** The advisor of a plugin, as a module exports it. */
export interface TriedPlugin {
  readonly plugin: AnyAdvisor
  /** As in the configuration. Default: none. */
  readonly options?: Fields
  /** What the models say that the plugin asks; the same for the same messages. Default: nothing. */
  readonly model?: (messages: readonly Message[]) => string
}

/** An advisor whatever its options are. */
type AnyAdvisor = Pick<AdvisorPlugin<never>, 'name' | 'places' | 'create'> & { readonly options?: unknown }

/** What a model that is asked aside uses each time. */
const ASIDE: Usage = { prompt: 40, completion: 2, total: 42 }

/** The advisor of a plugin as one that can be tried; what the models it asks use counts as that of all model calls. */
export function triedPlugin({ plugin, options = {}, model = () => '' }: TriedPlugin): Subject {
  const { name, places } = plugin
  const read = optionsOf(plugin.options, options)
  return {
    name,
    places,
    create: sessions => ({ name, advise: plugin.create(read as never, servicesOf(sessions, model)) })
  }
}

/** A zod schema fills in defaults. */
function optionsOf(schema: unknown, options: Fields): unknown {
  const zod = schema as { readonly parse?: (value: unknown) => unknown } | undefined
  return typeof zod?.parse === 'function' ? zod.parse(options) : options
}

function servicesOf(sessions: Sessions, model: NonNullable<TriedPlugin['model']>): PluginServices {
  const ask: Ask = async (turn, messages) => {
    turn.signal.throwIfAborted()
    await undefined
    sessions.aside = addUsage(sessions.aside, ASIDE)
    const message = newMessage('assistant', model(messages))
    return { message, messages: [message], finish: 'stop', usage: ASIDE, offered: new Map() }
  }
  return { log, model: () => ask }
}

const log: Log = { info() {}, warn() {}, error() {}, debug() {} }
