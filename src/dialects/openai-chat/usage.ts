import type { Usage } from '../../core/chat.ts'

/** Usage as OpenAI spells it. Details stand there only when some round reported them (contract §18, 4.10). */
export function encodeUsage({ prompt, completion, total, cached, cacheWrite, reasoning, other }: Usage): object {
  const wire: Record<string, unknown> = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
  if (cached !== undefined || cacheWrite !== undefined) {
    wire.prompt_tokens_details = {
      ...(cached !== undefined && { cached_tokens: cached }),
      ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite })
    }
  }
  if (reasoning !== undefined) wire.completion_tokens_details = { reasoning_tokens: reasoning }
  for (const [path, tokens] of Object.entries(other ?? {})) put(wire, path.split('.'), tokens)
  return wire
}

function put(into: Record<string, unknown>, path: readonly string[], tokens: number): void {
  const [field = '', ...rest] = path
  if (rest.length === 0) {
    into[field] = tokens
    return
  }
  const inner = into[field]
  const object = typeof inner === 'object' && inner !== null ? { ...inner } : {}
  into[field] = object
  put(object as Record<string, unknown>, rest, tokens)
}
