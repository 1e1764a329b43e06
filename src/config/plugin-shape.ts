import { z } from 'zod'
import type { PluginKind, PluginKinds } from '../plugins/plugin.ts'

/** A module's default export, seen to be of a kind. */
export type ShapedPlugin = {
  [K in PluginKind]: { readonly kind: K; readonly plugin: PluginKinds[K] }
}[PluginKind]

const work = z.custom<unknown>(value => typeof value === 'function', 'must be a function')
const schema = z.custom<unknown>(value => typeof value === 'object' && value !== null, 'must be a schema').optional()
const name = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower case letters, digits and dashes, at most 63')
const texts = z.array(z.string().min(1)).min(1)

const shapes = {
  advisor: z.strictObject({ name, places: z.array(z.enum(['turn', 'call'])).min(1), options: schema, create: work }),
  guard: z.strictObject({ name, tools: texts, options: schema, create: work }),
  tool: z.strictObject({
    name: z.string(),
    description: z.string(),
    input_schema: z.record(z.string(), z.unknown()),
    annotations: z
      .strictObject({
        read_only: z.boolean().optional(),
        destructive: z.boolean().optional(),
        idempotent: z.boolean().optional()
      })
      .optional(),
    group: z.string().min(1).max(64).optional(),
    always_visible: z.boolean().optional(),
    sequential: z.boolean().optional(),
    return_direct: z.boolean().optional(),
    allow_roles: z.array(z.string().min(1)).optional(),
    options: schema,
    run: work
  }),
  'tool source': z.strictObject({ name, ttl_ms: z.int().min(0), options: schema, list: work }),
  'tool index': z.strictObject({ name, options: schema, build: work }),
  loop: z.strictObject({ name, options: schema, create: work })
} satisfies Record<PluginKind, z.ZodType>

/** What a module exports by default as the plugin it is; a text says why it is none. */
export function shapedPlugin(exported: unknown): ShapedPlugin | string {
  if (typeof exported !== 'object' || exported === null) return 'its default export must be a plugin, as define… gives'
  const kind = kindOf(exported)
  if (kind === undefined) return 'its default export is none of advisor, guard, tool, tool source, tool index and loop'
  const issue = shapes[kind].safeParse(exported).error?.issues[0]
  if (issue !== undefined)
    return `its ${kind} is not right: ${[...issue.path, ''].join('.').replace(/\.$/, ': ')}${issue.message}`
  // The shape was just seen; the object itself is kept, since its functions may be methods.
  return { kind, plugin: exported } as ShapedPlugin
}

/** Each kind has a field that no other has; a loop has only `create`. */
function kindOf(exported: object): PluginKind | undefined {
  if ('places' in exported) return 'advisor'
  if ('run' in exported) return 'tool'
  if ('list' in exported) return 'tool source'
  if ('build' in exported) return 'tool index'
  if ('create' in exported) return 'tools' in exported ? 'guard' : 'loop'
  return undefined
}
