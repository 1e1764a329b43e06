import type { Searchable } from '../core/finder.ts'
import { matchesGlob } from '../core/glob.ts'
import type { Models } from '../core/models.ts'
import type { RunCalls } from '../core/run-calls.ts'
import { type Advisor, type Guard, type Log, revise, type Turn } from '../core/turn.ts'
import { codeTool } from '../plugins/code-tool.ts'
import { type ListedTools, type ListedToolsSettings, listedTools } from '../plugins/listed-tools.ts'
import { pluggedIndex } from '../plugins/plugged-index.ts'
import type { Plugin } from '../plugins/plugin.ts'
import type { PluginServices } from '../plugins/services.ts'
import type { ToolIndex } from '../tools/index/tool-index.ts'
import type { AddedTool } from '../tools/joined-tools.ts'
import { DEFAULT_MODEL_BYTES } from '../tools/model-text.ts'
import { buildCountedModels } from './build-counted-models.ts'
import type { LoadedPlugins } from './load-plugins.ts'
import type { Config } from './schema.ts'
import { toolRules } from './tool-rules.ts'

export interface BuiltPlugins {
  /** Those that `chain` lists. */
  readonly advisors: readonly Advisor[]
  /** In the order of the configuration; they stand around the gateway's own. */
  readonly guards: readonly Guard[]
  /** The one that `chain.loop` names. */
  readonly loop: ((run: RunCalls) => Advisor) | undefined
  readonly tools: readonly AddedTool[]
  readonly sources: readonly ListedTools[]
  readonly indexes: Readonly<Record<string, (tools: readonly Searchable[]) => ToolIndex>>
}

interface Gateway {
  readonly models: Models
  readonly log: Log
}

/** Creates the plugins. Throws `ConfigError` with the place of one that does not let itself be created. */
export function buildPlugins(config: Config, loaded: LoadedPlugins, gateway: Gateway): BuiltPlugins {
  const { chain, tool_search } = config
  const named: readonly string[] = [...chain.turn, ...chain.call, chain.loop, tool_search.index]
  const parts = loaded.list.map((each, at): Partial<BuiltPlugins> => {
    const { name } = each.plugin
    if (NAMED.includes(each.kind) && !named.includes(name)) {
      gateway.log.warn({ event: 'plugin.unused', plugin: name }, `the ${each.kind} ${name} is named nowhere`)
      return {}
    }
    return partOf(each, settingsOf(config, each, gateway), work => {
      try {
        return work()
      } catch (error) {
        throw loaded.failed(at, `${name} cannot be created: ${error instanceof Error ? error.message : String(error)}`)
      }
    })
  })
  return {
    advisors: parts.flatMap(({ advisors = [] }) => advisors),
    guards: parts.flatMap(({ guards = [] }) => guards),
    loop: parts.find(({ loop }) => loop !== undefined)?.loop,
    tools: parts.flatMap(({ tools = [] }) => tools),
    sources: parts.flatMap(({ sources = [] }) => sources),
    indexes: Object.assign({}, ...parts.map(({ indexes }) => indexes))
  }
}

/** Kinds that do nothing until the configuration names them. */
const NAMED: readonly Plugin['kind'][] = ['advisor', 'loop', 'tool index']

/** What one plugin adds. `create`: its own code runs within, so that an error names its place. */
function partOf(each: Plugin, settings: ListedToolsSettings, create: <T>(work: () => T) => T): Partial<BuiltPlugins> {
  const { options, services } = settings
  const { name } = each.plugin
  switch (each.kind) {
    case 'advisor':
      return { advisors: [{ name, advise: create(() => each.plugin.create(options, services)) }] }
    case 'guard':
      return {
        guards: [
          guardOf(
            name,
            each.plugin.tools,
            create(() => each.plugin.create(options, services))
          )
        ]
      }
    case 'loop':
      return { loop: run => ({ name, advise: create(() => each.plugin.create(run, options, services)) }) }
    case 'tool':
      return { tools: [{ tool: codeTool(each.plugin, settings), allowRoles: each.plugin.allow_roles ?? [] }] }
    case 'tool source':
      return { sources: [listedTools(each.plugin, settings)] }
    case 'tool index':
      return { indexes: { [name]: pluggedIndex(each.plugin, settings) } }
  }
}

function settingsOf(config: Config, { plugin, options }: Plugin, gateway: Gateway): ListedToolsSettings {
  const maxModelBytes = config.tool_defaults.result?.max_model_bytes ?? DEFAULT_MODEL_BYTES
  return { options, services: servicesOf(config, plugin.name, gateway), maxModelBytes, ...toolRules(config) }
}

function guardOf(name: string, tools: readonly string[], guard: Guard['guard']): Guard {
  return {
    name,
    guard: (call, turn, next) => (matchesGlob(call.name, tools) ? guard(call, turn, next) : next(call, turn))
  }
}

function servicesOf(config: Config, plugin: string, { models, log }: Gateway): PluginServices {
  const named = (level: 'info' | 'warn' | 'error' | 'debug') => (fields: object, message?: string) =>
    log[level]({ ...fields, plugin }, message)
  const chat = buildCountedModels(config, models)
  return {
    log: { info: named('info'), warn: named('warn'), error: named('error'), debug: named('debug') },
    model(name) {
      if (models.resolve(name) === undefined) throw new Error(`there is no model named ${name}`)
      return (turn, messages, params = {}) => chat(aside(turn, { model: name, messages, tools: new Map(), params }))
    }
  }
}

/** A turn beside the loop: nobody listens to it, and what it uses belongs to no round. */
function aside(turn: Turn, prompt: Turn['prompt']): Turn {
  return {
    ...revise(turn, prompt),
    round: 0,
    emit: undefined,
    keep: undefined,
    tell: event => {
      if (event.type !== 'round.start') turn.tell(event)
    }
  }
}
