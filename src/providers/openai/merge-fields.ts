import type { Fields } from '../../core/chat.ts'
import { isFields } from '../../core/is-fields.ts'

/**
 * Fields that nobody reads, put together from their pieces: texts and lists are appended, objects merged, everything
 * else replaced. A text that is sent again unchanged (a `type`, a `channel`) stays single.
 */
export function mergeFields(before: Fields | undefined, added: Fields): Fields {
  if (before === undefined) return added
  const merged: Record<string, unknown> = { ...before }
  for (const [key, value] of Object.entries(added)) {
    if (key !== '__proto__') merged[key] = mergeValue(merged[key], value)
  }
  return merged
}

function mergeValue(before: unknown, value: unknown): unknown {
  if (typeof before === 'string' && typeof value === 'string') return before === value ? before : before + value
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value]
  if (isFields(before) && isFields(value)) return mergeFields(before, value)
  return value
}
