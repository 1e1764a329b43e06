// The third parameter of a reviver and JSON.rawJSON are in V8 but not yet in TypeScript's library.
interface RawJson {
  rawJSON(text: string): unknown
}

/** What a reviver is told of a value beside it. */
export interface Revived {
  /** The text it was read from; numbers, strings and the like only. */
  readonly source?: string
}

/** A value that `JSON.stringify` writes as this text, digit for digit. */
export function rawNumber(source: string): unknown {
  return (JSON as unknown as RawJson).rawJSON(source)
}
