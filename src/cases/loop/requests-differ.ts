import { type Fields, fieldsOf, isFields, listOf } from '../fields.ts'
import { sameValue, shown } from '../same-value.ts'
import { type Equality, messagesDiffer } from './messages-fit.ts'
import type { RequestSaw, ToolSaw } from './observation.ts'

/** What differs between the expected and the seen upstream requests. */
export function requestsDiffer(
  expected: unknown,
  requests: readonly RequestSaw[],
  isOrderOpen: boolean,
  equality: Equality
): string | undefined {
  const list = listOf(expected).map(fieldsOf)
  if (list.length !== requests.length) return `${requests.length} came where ${list.length} were expected`
  for (const [at, want] of list.entries()) {
    const seen = requests[at]
    // The order of tools matters from the second request on.
    const why = seen && requestDiffers(want, seen, isOrderOpen || at === 0, equality)
    if (why !== undefined) return `request ${at + 1}, ${why}`
  }
  return undefined
}

function requestDiffers(want: Fields, seen: RequestSaw, isOpen: boolean, equality: Equality): string | undefined {
  for (const [field, value] of Object.entries(want)) {
    const why = fieldDiffers(field, value, seen, isOpen, equality)
    if (why !== undefined) return `${field}: ${why}`
  }
  return undefined
}

function fieldDiffers(
  field: string,
  value: unknown,
  seen: RequestSaw,
  isOpen: boolean,
  equality: Equality
): string | undefined {
  switch (field) {
    case 'messages':
      return messagesDiffer(value, seen.messages, equality)
    case 'tools':
      return toolsDiffer(value, seen.tools, isOpen)
    case 'tool_choice': {
      const isOpenToo = isFields(value) && 'equals_or_absent' in value
      if (isOpenToo && seen.toolChoice === undefined) return undefined
      const choice = isOpenToo ? value.equals_or_absent : value
      return sameValue(choice, seen.toolChoice)
        ? undefined
        : `${shown(seen.toolChoice)} where ${shown(value)} was expected`
    }
    case 'tool_schemas':
      return schemasDiffer(fieldsOf(value), seen.tools)
    default:
      return 'the runner does not know this field'
  }
}

/** A list of names, or `{first, count, includes}`. */
export function toolsDiffer(expected: unknown, tools: readonly ToolSaw[], isOpen: boolean): string | undefined {
  const names = tools.map(({ name }) => name)
  const differs = () => `${shown(names)} where ${shown(expected)} was expected`
  if (Array.isArray(expected)) {
    const [want, have] = isOpen ? [expected.toSorted(), names.toSorted()] : [expected, names]
    return sameValue(want, have) ? undefined : differs()
  }
  const matcher = fieldsOf(expected)
  const fits = Object.entries(matcher).every(([name, value]) => {
    if (name === 'first') return names[0] === value
    if (name === 'count') return names.length === value
    return name === 'includes' && listOf(value).every(one => names.includes(String(one)))
  })
  return fits && Object.keys(matcher).length > 0 ? undefined : differs()
}

/** Names of parameters, in any order. */
function schemasDiffer(expected: Fields, tools: readonly ToolSaw[]): string | undefined {
  for (const [name, schema] of Object.entries(expected)) {
    const tool = tools.find(one => one.name === name)
    if (!tool) return `${name} is not among the tools`
    for (const part of ['properties', 'required'] as const) {
      const want = listOf(fieldsOf(schema)[part]).toSorted()
      if (!sameValue(want, tool[part].toSorted()))
        return `${part} of ${name}: ${shown(tool[part])} where ${shown(want)}`
    }
  }
  return undefined
}
