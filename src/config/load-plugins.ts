/** From the paths in `plugins` to code that is checked and ready to be created. */
import { pathToFileURL } from 'node:url'
import type { Plugin } from '../plugins/plugin.ts'
import { toolFault } from '../plugins/tool-fault.ts'
import { ConfigError } from './config-error.ts'
import { pathText } from './path.ts'
import { openPluginImports } from './plugin-imports.ts'
import { checkedOptions } from './plugin-options.ts'
import { pluginPath } from './plugin-path.ts'
import { nameProblems, referenceProblems } from './plugin-references.ts'
import { shapedPlugin } from './plugin-shape.ts'
import type { Reading } from './read.ts'
import type { Config } from './schema.ts'
import { toolRules } from './tool-rules.ts'
import type { Wrong } from './wrong.ts'

export interface LoadedPlugins {
  /** In the order of the configuration, at the same positions. */
  readonly list: readonly Plugin[]
  /** The error for a plugin that could not be created, with its place. */
  failed(at: number, message: string): ConfigError
}

/**
 * Imports the plugins, checks them and their options, and then everything that names one. Throws `ConfigError` with
 * all that is wrong. A module runs code when it is imported: only those of a file that is right otherwise are.
 */
export async function loadPlugins({ config, file, folder, line }: Reading): Promise<LoadedPlugins> {
  const errorOf = (wrong: readonly Wrong[]): ConfigError =>
    new ConfigError(
      file,
      wrong.map(({ path, message }) => {
        const at = line(path)
        return { path: pathText(path), ...(at !== undefined && { line: at }), message }
      })
    )
  const failed: LoadedPlugins['failed'] = (at, message) => errorOf([{ path: ['plugins', at], message }])
  if (config.plugins.length === 0) return { list: [], failed }
  openPluginImports()
  const list: Plugin[] = []
  const wrong: Wrong[] = []
  for (const [i, entry] of config.plugins.entries()) {
    const loaded = await loadOne(folder, entry, config)
    if ('faults' in loaded) wrong.push(...loaded.faults.map(message => ({ path: ['plugins', i], message })))
    else list.push(loaded)
  }
  // Without all of them nothing can be said of names.
  if (wrong.length === 0) wrong.push(...nameProblems(config, list), ...referenceProblems(config, list))
  if (wrong.length > 0) throw errorOf(wrong)
  return { list, failed }
}

type Entry = Config['plugins'][number]

async function loadOne(folder: string, entry: Entry, config: Config): Promise<Plugin | { faults: readonly string[] }> {
  const place = pluginPath(folder, entry.path)
  if (!place.ok) return { faults: [`${entry.path} ${place.message}`] }
  const exported = await defaultOf(place.path)
  const shaped = 'reason' in exported ? exported.reason : shapedPlugin(exported.value)
  if (typeof shaped === 'string') return { faults: [`${entry.path}: ${shaped}`] }
  const { name } = shaped.plugin
  const fault = shaped.kind === 'tool' ? toolFault(shaped.plugin, toolRules(config)) : undefined
  if (fault !== undefined) return { faults: [`${name}: ${fault}`] }
  const checked = checkedOptions(shaped.plugin.options, entry.options)
  if (!checked.ok) return { faults: checked.faults.map(each => `${name}: ${each}`) }
  return { ...shaped, options: checked.options } as Plugin
}

async function defaultOf(path: string): Promise<{ value: unknown } | { reason: string }> {
  try {
    const { default: value } = (await import(pathToFileURL(path).href)) as { default?: unknown }
    return { value }
  } catch (error) {
    return { reason: `it cannot be loaded: ${error instanceof Error ? error.message : String(error)}` }
  }
}
