import type { z } from 'zod'
import type { Fields } from '../core/chat.ts'
import { schemaCheck } from '../tools/schema-check.ts'

export type CheckedOptions =
  | { readonly ok: true; readonly options: unknown }
  | { readonly ok: false; readonly faults: readonly string[] }

/**
 * Options as a plugin wants them: by its zod schema, which fills in defaults, or by its JSON Schema. Without a schema
 * there may be none. A plugin may have a zod of its own, so the schema is known by what it can do.
 */
export function checkedOptions(schema: unknown, given: Fields): CheckedOptions {
  if (schema === undefined) {
    const names = Object.keys(given)
    return names.length === 0 ? { ok: true, options: {} } : { ok: false, faults: [`it takes no options, not ${names}`] }
  }
  if (isZod(schema)) {
    const { success, data, error } = schema.safeParse(given)
    return success ? { ok: true, options: data } : { ok: false, faults: error.issues.map(worded) }
  }
  const complaint = schemaCheck(schema as Fields)(given)
  return complaint === undefined ? { ok: true, options: given } : { ok: false, faults: [`options: ${complaint}`] }
}

function isZod(schema: unknown): schema is z.ZodType {
  return typeof (schema as { readonly safeParse?: unknown }).safeParse === 'function'
}

function worded({ path, message }: z.core.$ZodIssue): string {
  return `${['options', ...path].join('.')}: ${message}`
}
