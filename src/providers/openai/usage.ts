import type { Fields, Usage } from '../../core/chat.ts'
import { isFields } from '../../core/is-fields.ts'

/** OpenAI's usage object as ours. Negative and missing numbers are not there; `undefined` when nothing useful is. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isFields(value)) return undefined
  const usage: { -readonly [K in keyof Usage]?: Usage[K] } = {}
  let other: Record<string, number> | undefined
  const keep = (path: string, number: number): void => {
    other ??= {}
    other[path] = number
  }
  for (const key in value) {
    const counted = value[key]
    if (isFields(counted)) readDetails(key, counted, { usage, keep })
    else if (isCount(counted)) {
      if (key === 'prompt_tokens') usage.prompt = counted
      else if (key === 'completion_tokens') usage.completion = counted
      else if (key === 'total_tokens') usage.total = counted
      // DeepSeek's name.
      else if (key === 'prompt_cache_hit_tokens') usage.cached ??= counted
      else keep(key, counted)
    }
  }
  const { prompt, completion } = usage
  if (prompt === undefined && completion === undefined) return undefined
  return {
    ...usage,
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    total: usage.total ?? (prompt ?? 0) + (completion ?? 0),
    ...(other && { other })
  }
}

interface Found {
  readonly usage: { cached?: number; cacheWrite?: number; reasoning?: number }
  readonly keep: (path: string, number: number) => void
}

function readDetails(part: string, details: Fields, { usage, keep }: Found): void {
  const ofPrompt = part === 'prompt_tokens_details'
  for (const key in details) {
    const number = details[key]
    if (!isCount(number)) continue
    if (ofPrompt && key === 'cached_tokens') usage.cached = number
    else if (ofPrompt && key === 'cache_write_tokens') usage.cacheWrite = number
    else if (part === 'completion_tokens_details' && key === 'reasoning_tokens') usage.reasoning = number
    else keep(`${part}.${key}`, number)
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
