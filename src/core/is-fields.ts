import type { Fields } from './chat.ts'

/** Is it a JSON object? */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
