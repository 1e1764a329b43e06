import type { Usage } from '../../core/chat.ts'
import { isFields } from '../is-fields.ts'

const READ_ELSEWHERE = new Set(['prompt_tokens', 'completion_tokens', 'total_tokens'])
const READ_DETAILS = new Set([
  'prompt_tokens_details.cached_tokens',
  'prompt_tokens_details.cache_write_tokens',
  'completion_tokens_details.reasoning_tokens'
])

/** OpenAI's usage object as ours. Negative and missing numbers are not there; `undefined` when nothing useful is. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isFields(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined && completion === undefined) return undefined
  const into = isFields(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const outOf = isFields(value.completion_tokens_details) ? value.completion_tokens_details : {}
  // prompt_cache_hit_tokens is DeepSeek's name.
  const cached = count(into.cached_tokens) ?? count(value.prompt_cache_hit_tokens)
  const cacheWrite = count(into.cache_write_tokens)
  const reasoning = count(outOf.reasoning_tokens)
  const other = otherCounters(value)
  return {
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    total: count(value.total_tokens) ?? (prompt ?? 0) + (completion ?? 0),
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
    ...(other !== undefined && { other })
  }
}

function otherCounters(usage: Readonly<Record<string, unknown>>): Record<string, number> | undefined {
  let other: Record<string, number> | undefined
  const keep = (path: string, value: unknown): void => {
    const number = count(value)
    if (number === undefined) return
    other ??= {}
    other[path] = number
  }
  for (const [key, value] of Object.entries(usage)) {
    if (READ_ELSEWHERE.has(key)) continue
    if (!isFields(value)) keep(key, value)
    else {
      for (const [name, inner] of Object.entries(value)) {
        if (!READ_DETAILS.has(`${key}.${name}`)) keep(`${key}.${name}`, inner)
      }
    }
  }
  return other
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
