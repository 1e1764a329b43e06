import type { Usage } from './chat.ts'
import { ownValue } from './own-value.ts'

/** Adds every field on its own; a detail that neither side has stays absent. Absent + absent = absent. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined) return b
  if (b === undefined) return a
  const cached = addOptional(a.cached, b.cached)
  const cacheWrite = addOptional(a.cacheWrite, b.cacheWrite)
  const reasoning = addOptional(a.reasoning, b.reasoning)
  const other = addRecords(a.other, b.other)
  return {
    prompt: a.prompt + b.prompt,
    completion: a.completion + b.completion,
    total: a.total + b.total,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
    ...(other !== undefined && { other })
  }
}

function addOptional(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0)
}

function addRecords(a: Usage['other'], b: Usage['other']): Usage['other'] {
  if (a === undefined) return b
  const sum: Record<string, number> = { ...a }
  for (const [path, tokens] of Object.entries(b ?? {})) sum[path] = (ownValue(sum, path) ?? 0) + tokens
  return sum
}
