/** What stands in an object under a name that somebody else chose: never what every object inherits (`constructor`). */
export function ownValue<T>(fields: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}
