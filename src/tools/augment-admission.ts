import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { augmentedSchema } from './augment-schema.ts'
import type { AugmentField } from './definition.ts'
import { admitSchema } from './schema-admission.ts'
import { schemaAt } from './schema-at.ts'
import { isSchemaObject, subschemas } from './schema-walk.ts'

/**
 * Lets in only fields that no argument of the tool has the name of, and that make a schema which could have been the
 * tool's own. The tool's own schema must have been admitted. Throws with `augment` as `param`.
 */
export function admitAugment(fields: readonly AugmentField[], own: Fields): void {
  if (fields.length === 0) return
  const taken = argumentNames(own)
  const clash = fields.find(({ name }) => taken.has(name))
  if (clash) {
    throw new GatewayError(
      'tool_rejected',
      `augment has a field ${clash.name}, which is an argument of the tool itself; give the field another name, or ` +
        'leave it out of this tool with an augment of its own.',
      { param: 'augment', reason: 'augment_clash' }
    )
  }
  admitSchema(augmentedSchema(own, fields), 'augment')
}

/** Every argument that the schema names at its top, also in alternatives and behind references. */
function argumentNames(root: Fields): ReadonlySet<string> {
  const names = new Set<string>()
  const seen = new Set<Fields>()
  const queue = [root]
  for (let schema = queue.pop(); schema !== undefined; schema = queue.pop()) {
    if (seen.has(schema)) continue
    seen.add(schema)
    const { properties, required, $ref } = schema
    if (isSchemaObject(properties)) for (const name of Object.keys(properties)) names.add(name)
    if (Array.isArray(required)) for (const name of required) names.add(String(name))
    for (const { schema: inner, place } of subschemas(schema)) if (place.at === 'same') queue.push(inner)
    const target = typeof $ref === 'string' ? schemaAt(root, $ref) : undefined
    if (isSchemaObject(target)) queue.push(target)
  }
  return names
}
