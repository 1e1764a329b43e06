import type { Fields } from './chat.ts'
import type { Searchable } from './finder.ts'

/** JSON Schema of the arguments that a tool itself takes: what the model is shown, without what was asked beside it. */
export function ownParameters({ parameters, augment }: Pick<Searchable, 'parameters' | 'augment'>): Fields | undefined {
  return augment ? augment.own : parameters
}
