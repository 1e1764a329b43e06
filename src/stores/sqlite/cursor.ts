import { GatewayError } from '../../core/errors.ts'

type Place = readonly (string | number)[]

/** Where the next page begins, as clients see it: opaque. */
export function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/**
 * Reads a cursor made by `cursorOf` for places of this form, e.g. `[0, '']` for a number and a text. Throws
 * `invalid_request` for any other text.
 */
export function placeOf<P extends Place>(cursor: string, form: P): P {
  const place = parsed(cursor)
  const isPlace =
    Array.isArray(place) && place.length === form.length && form.every((each, at) => typeof each === typeof place[at])
  if (isPlace) return place as unknown as P
  throw new GatewayError('invalid_request', 'cursor must be a next_cursor of this list.', { param: 'cursor' })
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
