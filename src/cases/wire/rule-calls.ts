import { type Fields, fieldsOf, listOf, numberOf, stringOf } from '../fields.ts'

/** Most calls of one answer: more and the official Node client throws. */
const MAX_CALLS = 128

/** W6: what is wrong with the pieces of calls, choice by choice. */
export function callsRule(choices: readonly (readonly Fields[])[]): string | undefined {
  for (const one of choices) {
    let last = -1
    for (const piece of one.flatMap(({ delta }) => listOf(fieldsOf(delta).tool_calls).map(fieldsOf))) {
      const index = numberOf(piece.index)
      if (index === undefined) return 'a piece of a call without index'
      if (index === last + 1) {
        const why = headFault(piece)
        if (why) return why
        last = index
      } else if (index !== last) return `call ${index} after call ${last}: not one after another`
      else if ('id' in piece || 'type' in piece || 'name' in fieldsOf(piece.function)) {
        return `id, type or name of call ${index} is said twice`
      }
    }
    if (last >= MAX_CALLS) return `more than ${MAX_CALLS} calls`
  }
  return undefined
}

function headFault(piece: Fields): string | undefined {
  if (!stringOf(piece.id)) return 'the head of a call has no id'
  if (piece.type !== 'function' && piece.type !== 'custom')
    return `the head of a call has the type ${String(piece.type)}`
  return stringOf(fieldsOf(piece[piece.type]).name) ? undefined : 'the head of a call has no name'
}
