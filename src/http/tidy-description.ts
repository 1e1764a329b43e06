import { STATUS_CODES } from 'node:http'

type Json = Record<string, unknown>

const REFERENCE = '#/components/schemas/'

/** The description without schemas that nothing refers to, and with words of its own for each answer. */
export function tidyDescription(document: object): object {
  const { components, paths, ...rest } = structuredClone(document) as { components?: Json; paths?: Json } & Json
  for (const operations of Object.values(paths ?? {}) as Json[]) {
    for (const operation of Object.values(operations) as Json[]) nameAnswers(operation)
  }
  const schemas = (components?.schemas ?? {}) as Json
  const used = new Set<string>()
  collect(paths, schemas, used)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  return { ...rest, components: { ...components, schemas: kept }, paths }
}

/** A route says in its summary what it answers with. */
function nameAnswers({ summary, responses = {} }: Json): void {
  for (const [status, response] of Object.entries(responses as Record<string, Json>)) {
    if (response.description !== 'Default Response') continue
    response.description = `${status.startsWith('2') ? summary : STATUS_CODES[status]}.`
  }
}

function collect(value: unknown, schemas: Json, used: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key !== '$ref' || typeof inner !== 'string' || !inner.startsWith(REFERENCE)) {
      collect(inner, schemas, used)
      continue
    }
    const name = inner.slice(REFERENCE.length)
    if (used.has(name)) continue
    used.add(name)
    collect(schemas[name], schemas, used)
  }
}
