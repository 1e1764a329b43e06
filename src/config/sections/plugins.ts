/** Code that the gateway is extended by. */
import { z } from 'zod'

const entry = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe('A module, seen from the folder of this file, which it must lie under; .ts, .mts, .js or .mjs.'),
  options: z.record(z.string(), z.unknown()).default({}).describe('Options of the plugin, by its own schema.')
})

const plain = z
  .string()
  .min(1)
  .transform((path): z.output<typeof entry> => ({ path, options: {} }))

export const pluginSections = {
  plugins: z
    .array(z.union([plain, entry], 'must be a path, or a mapping of path and options'))
    .max(100)
    .default([])
    .describe(
      'Modules with an advisor, guard, tool, tool source, tool index or loop: paths, or mappings of path and options. ' +
        'A change needs a restart.'
    )
}
