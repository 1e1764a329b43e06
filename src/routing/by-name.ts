import { GatewayError } from '../core/errors.ts'
import { matchesGlob } from '../core/glob.ts'
import type { ListedModel, Models, Target } from '../core/models.ts'
import { type Model, revise } from '../core/turn.ts'

export interface ByNameOptions {
  /** `models`: names and globs (`*`) that lead here without being written `provider/model`. */
  readonly providers: readonly { readonly provider: NamedModel; readonly models: readonly string[] }[]
  readonly aliases: readonly { readonly name: string; readonly provider: string; readonly model: string }[]
  readonly defaultModel: string
}

/** What routing has to know of a provider. */
interface NamedModel {
  readonly name: string
  readonly kind?: string
  readonly chat: Model
}

/**
 * Chooses the provider by the model's name: an alias, else `provider/model`, else the longest pattern of a provider
 * that the name matches (contract §10). Rejects with `model_not_found`.
 */
export function byName({ providers, aliases, defaultModel }: ByNameOptions): Models {
  const byProvider = new Map(providers.map(({ provider }) => [provider.name, provider]))
  const byAlias = new Map(aliases.map(alias => [alias.name, alias]))
  const declared = providers.flatMap(({ provider, models }) =>
    models.map(pattern => ({ pattern, provider: provider.name }))
  )
  const patterns = declared.toSorted((a, b) => b.pattern.length - a.pattern.length)
  const created = Math.floor(Date.now() / 1000)

  const to = (provider: string, model: string): Target => {
    const kind = byProvider.get(provider)?.kind
    return { provider, model, ...(kind !== undefined && { kind }) }
  }
  const resolve = (asked: string): Target | undefined => {
    const name = asked === '' ? defaultModel : asked
    const alias = byAlias.get(name)
    if (alias !== undefined) return to(alias.provider, alias.model)
    const slash = name.indexOf('/')
    const prefix = name.slice(0, Math.max(slash, 0))
    if (byProvider.has(prefix) && slash < name.length - 1) return to(prefix, name.slice(slash + 1))
    const match = patterns.find(({ pattern }) => matchesGlob(name, [pattern]))
    return match && to(match.provider, name)
  }

  return {
    resolve,
    list: () => [...listed(aliases, declared, created).values()],
    chat: async turn => {
      const { model } = turn.prompt
      const target = resolve(model)
      const provider = target && byProvider.get(target.provider)
      if (target === undefined || provider === undefined) throw notFound(model || defaultModel)
      return provider.chat(target.model === model ? turn : revise(turn, { model: target.model }))
    }
  }
}

/** Globs are no names, so what they stand for cannot be listed. */
function listed(
  aliases: ByNameOptions['aliases'],
  declared: readonly { readonly pattern: string; readonly provider: string }[],
  created: number
): ReadonlyMap<string, ListedModel> {
  const list = new Map<string, ListedModel>()
  for (const { name, provider } of aliases) list.set(name, { id: name, ownedBy: provider, created })
  for (const { pattern, provider } of declared) {
    if (pattern.includes('*') || list.has(pattern)) continue
    list.set(pattern, { id: pattern, ownedBy: provider, created })
  }
  return list
}

function notFound(model: string): GatewayError {
  const text = `There is no model named ${model.slice(0, 128)}; GET /v1/models lists those there are.`
  return new GatewayError('model_not_found', text, { param: 'model' })
}
