import type { z } from 'zod'
import type { Fields } from '../core/chat.ts'

/** What the options of a plugin may be: a zod schema, or a JSON Schema, by which they are checked and left as given. */
export type OptionsSchema<O> = z.ZodType<O> | Fields
