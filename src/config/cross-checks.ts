import { matchesGlob } from '../core/glob.ts'
import { advisorProblems } from './advisor-problems.ts'
import type { Path } from './path.ts'
import { referenceProblems } from './plugin-references.ts'
import type { Config } from './schema.ts'
import { toolProblems } from './tool-problems.ts'
import type { Wrong } from './wrong.ts'

/**
 * What no section can see by itself: names that must exist, be unique or fit together. Where a section was `lost` to
 * errors of its own, nothing is said of what refers to it.
 */
export function crossChecks(config: Config, lost: ReadonlySet<string> = new Set()): Wrong[] {
  const targetsKnown = !lost.has('providers') && !lost.has('models')
  return [
    ...twice(config.providers, 'providers', 'name'),
    ...twice(config.models, 'models', 'name'),
    ...twice(config.keys, 'keys', 'id'),
    ...twice(config.advisors, 'advisors', 'name'),
    ...(targetsKnown ? [...aliasTargets(config), ...notServed(config, config.default_model, ['default_model'])] : []),
    // What plugins are named is known when they are loaded; then this is asked.
    ...(config.plugins.length > 0 || lost.has('plugins') || lost.has('advisors') ? [] : referenceProblems(config, [])),
    ...(lost.has('egress') || lost.has('advisors') ? [] : advisorProblems(config)),
    ...compaction(config, targetsKnown),
    ...costLimit(config, lost),
    ...waits(config),
    ...keys(config),
    ...searchResults(config),
    ...(lost.has('egress') || lost.has('tool_defaults') ? [] : toolProblems(config))
  ]
}

function twice<K extends string>(list: readonly Readonly<Record<K, string>>[], section: string, field: K): Wrong[] {
  const first = new Map<string, number>()
  return list.flatMap((item, i): Wrong[] => {
    const earlier = first.get(item[field])
    if (earlier === undefined) first.set(item[field], i)
    return earlier === undefined
      ? []
      : [
          {
            path: [section, i, field],
            message: `is the ${field} of ${section}[${earlier}] too; each must have its own`
          }
        ]
  })
}

function aliasTargets({ models, providers }: Config): Wrong[] {
  const names = providers.map(({ name }) => name)
  return models.flatMap((alias, i) =>
    alias.targets.flatMap((target, j): Wrong[] =>
      names.includes(target.provider)
        ? []
        : [
            {
              path: ['models', i, 'targets', j, 'provider'],
              message: `there is no provider named ${target.provider}; known are ${names.join(', ')}`
            }
          ]
    )
  )
}

/** The same order as at a request: alias, provider/model, pattern. */
function notServed({ models, providers }: Config, model: string, path: Path): Wrong[] {
  const found =
    models.some(({ name }) => name === model) ||
    providers.some(({ name }) => model.startsWith(`${name}/`) && model.length > name.length + 1) ||
    providers.some(provider => matchesGlob(model, provider.models))
  if (found) return []
  const known = [...models.map(({ name }) => name), ...providers.flatMap(provider => provider.models)].slice(0, 20)
  const served = known.length > 0 ? `served are ${known.join(', ')} and ` : ''
  const forms = providers.map(({ name }) => `${name}/<model>`).join(', ')
  return [{ path, message: `no provider serves ${model}; ${served}${forms}` }]
}

function compaction(config: Config, targetsKnown: boolean): Wrong[] {
  const { compaction: section } = config.memory
  if (section === undefined) return []
  const path: Path = ['memory', 'compaction']
  const wrong = targetsKnown ? notServed(config, section.model, [...path, 'model']) : []
  const { turns } = section.trigger
  if (turns !== undefined && turns <= section.keep_turns) {
    const message = `must be more than keep_turns (${section.keep_turns}): otherwise there is nothing to summarise`
    wrong.push({ path: [...path, 'trigger', 'turns'], message })
  }
  if (!config.chain.turn.includes('memory')) wrong.push({ path, message: 'needs memory under chain.turn' })
  return wrong
}

function costLimit({ limits, prices, models }: Config, lost: ReadonlySet<string>): Wrong[] {
  const { max_cost_usd: max = -1 } = limits
  const known = prices.file !== undefined || Object.keys(prices.overrides).length > 0
  const isUnsure = lost.has('prices') || lost.has('models')
  if (max === -1 || known || isUnsure || models.some(({ targets }) => targets.some(target => target.prices))) return []
  return [{ path: ['limits', 'max_cost_usd'], message: 'needs prices: without any, no cost is known' }]
}

function waits({ retry, providers }: Config): Wrong[] {
  const wrong = providers.flatMap((provider, i): Wrong[] => {
    const { min_ms = retry.min_ms, max_ms = retry.max_ms } = provider.retry
    const same = min_ms === retry.min_ms && max_ms === retry.max_ms
    if (same || min_ms <= max_ms) return []
    return [{ path: ['providers', i, 'retry'], message: `min_ms (${min_ms}) is more than max_ms (${max_ms})` }]
  })
  if (retry.min_ms > retry.max_ms) wrong.push({ path: ['retry', 'min_ms'], message: 'must not be more than max_ms' })
  return wrong
}

function keys({ keys, auth }: Config): Wrong[] {
  const reserved = ['dev', 'anonymous', 'admin']
  const first = new Map<string, number>()
  return keys.flatMap(({ id, key, key_sha256 }, i): Wrong[] => {
    const wrong: Wrong[] = []
    if (reserved.includes(id)) {
      wrong.push({ path: ['keys', i, 'id'], message: `is a name of the gateway's own (${reserved.join(', ')})` })
    }
    if ((key === undefined) === (key_sha256 === undefined)) {
      const message = 'needs exactly one of key and key_sha256 (a variable that is set but empty counts as absent)'
      wrong.push({ path: ['keys', i], message })
    }
    const secret = key ?? key_sha256?.toLowerCase()
    const field = key === undefined ? 'key_sha256' : 'key'
    const earlier = secret === undefined ? undefined : first.get(secret)
    if (earlier !== undefined) wrong.push({ path: ['keys', i, field], message: `is the key of keys[${earlier}] too` })
    else if (secret !== undefined) first.set(secret, i)
    if (key !== undefined && key === auth.admin_key) {
      wrong.push({ path: ['keys', i, 'key'], message: 'is the admin_key; give clients keys of their own' })
    }
    return wrong
  })
}

function searchResults({ tool_search }: Config): Wrong[] {
  const { max_results: usual, max_results_limit: most } = tool_search
  if (usual === undefined || most === undefined || usual <= most) return []
  return [{ path: ['tool_search', 'max_results_limit'], message: `must be at least max_results (${usual})` }]
}
