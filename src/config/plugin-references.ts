import type { Plugin, PluginKind } from '../plugins/plugin.ts'
import { OWN_NAMES } from './advisor-problems.ts'
import { chainProblems } from './chain-check.ts'
import { type Path, pathText } from './path.ts'
import type { Config } from './schema.ts'
import type { Wrong } from './wrong.ts'

/** Names of the gateway's own that a plugin could be taken for. */
const BUILT_IN: readonly string[] = [...OWN_NAMES, 'limits', 'arguments', 'approval', 'taint', 'lexical', 'regex']

/** What the configuration names that neither the gateway nor a plugin has: advisors, the loop, the index. */
export function referenceProblems(
  config: Pick<Config, 'chain' | 'tool_search' | 'advisors'>,
  plugins: readonly Plugin[]
): Wrong[] {
  const advisors = plugins.flatMap(({ kind, plugin }) => (kind === 'advisor' ? [plugin] : []))
  const others = listedOthers(config.chain, plugins)
  const told = new Set(others.map(({ path }) => pathText(path)))
  return [
    ...others,
    ...chainProblems(config.chain, [...config.advisors, ...advisors]).filter(({ path }) => !told.has(pathText(path))),
    ...unknown(config.chain.loop, ['tool-loop', ...namesOf(plugins, 'loop')], {
      path: ['chain', 'loop'],
      what: 'loop'
    }),
    ...unknown(config.tool_search.index, ['lexical', 'regex', ...namesOf(plugins, 'tool index')], {
      path: ['tool_search', 'index'],
      what: 'tool index'
    })
  ]
}

/** Names that are taken: by the gateway, by a tool or a remote advisor of the file, by a plugin before it. */
export function nameProblems(config: Config, plugins: readonly Plugin[]): Wrong[] {
  const taken = new Map<string, string>([
    ...BUILT_IN.map((name): [string, string] => [name, 'built in']),
    ...config.advisors.map(({ name }, i): [string, string] => [name, `the name of advisors[${i}]`]),
    ...config.tools.map(({ name }, i): [string, string] => [name.toLowerCase(), `the name of tools[${i}]`])
  ])
  return plugins.flatMap(({ plugin }, i): Wrong[] => {
    const name = plugin.name.toLowerCase()
    const by = taken.get(name)
    if (by === undefined) taken.set(name, `the name of plugins[${i}]`)
    return by === undefined
      ? []
      : [{ path: ['plugins', i], message: `${plugin.name} is ${by} already; choose another name` }]
  })
}

/** Plugins in the lists of advisors that are none. */
function listedOthers(chain: Config['chain'], plugins: readonly Plugin[]): Wrong[] {
  return (['turn', 'call'] as const).flatMap(place =>
    chain[place].flatMap((name, i): Wrong[] => {
      const kind = plugins.find(({ plugin }) => plugin.name === name)?.kind
      if (kind === undefined || kind === 'advisor') return []
      const more = kind === 'loop' ? '; chain.loop names it' : ''
      return [{ path: ['chain', place, i], message: `${name} may not be listed, as it is a ${kind}${more}` }]
    })
  )
}

function namesOf(plugins: readonly Plugin[], kind: PluginKind): readonly string[] {
  return plugins.flatMap(each => (each.kind === kind ? [each.plugin.name] : []))
}

function unknown(name: string, known: readonly string[], { path, what }: { path: Path; what: string }): Wrong[] {
  if (known.includes(name)) return []
  return [{ path, message: `there is no ${what} named ${name}; known are ${known.join(', ')}` }]
}
