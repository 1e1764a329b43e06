import type { AugmentField, ToolBody } from './definition.ts'

/** Fills in what augmentation fields leave out (contract §4.6). */
export function completeAugment(fields: ToolBody['augment'] = []): readonly AugmentField[] {
  return fields.map(({ name, description, schema = { type: 'string' }, required = true, forward = false }) => {
    return { name, ...(description && { description }), schema, required, forward }
  })
}
