import type { Plugin, PluginKind } from '../plugins/plugin.ts'
import { chainProblems } from './chain-check.ts'
import type { Path } from './path.ts'
import type { Config } from './schema.ts'
import { ADVISORS } from './sections/turn.ts'

interface Wrong {
  readonly path: Path
  readonly message: string
}

/** Names of the gateway's own that a plugin could be taken for. */
const BUILT_IN: readonly string[] = [
  ...ADVISORS.turn,
  ...ADVISORS.call,
  'tool-loop',
  'limits',
  'arguments',
  'lexical',
  'regex'
]

/** What the configuration names that neither the gateway nor a plugin has: advisors, the loop, the index. */
export function referenceProblems(
  config: Pick<Config, 'chain' | 'tool_search' | 'advisors'>,
  plugins: readonly Plugin[]
): Wrong[] {
  const advisors = plugins.flatMap(({ kind, plugin }) => (kind === 'advisor' ? [plugin] : []))
  return [
    ...chainProblems(config.chain, [...config.advisors, ...advisors]),
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
    ...config.advisors.map(({ name }): [string, string] => [name, 'a remote advisor']),
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

function namesOf(plugins: readonly Plugin[], kind: PluginKind): readonly string[] {
  return plugins.flatMap(each => (each.kind === kind ? [each.plugin.name] : []))
}

function unknown(name: string, known: readonly string[], { path, what }: { path: Path; what: string }): Wrong[] {
  if (known.includes(name)) return []
  return [{ path, message: `there is no ${what} named ${name}; known are ${known.join(', ')}` }]
}
