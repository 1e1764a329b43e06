/** What a path such as `messages[-1].tool_calls[0].id` or `messages[*].tool_call_id` leads to. */
export interface Reached {
  /** All values, in order; with `[*]` there may be many, without it one or none. */
  readonly values: readonly unknown[]
  /** Does the path hold `[*]`? Then a comparison is with the list of values. */
  readonly many: boolean
}

/** Follows a path through a JSON value. Negative indexes count from the end. What is not there is left out. */
export function reach(value: unknown, path: string): Reached {
  const steps: readonly string[] = path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []
  let values: unknown[] = [value]
  for (const step of steps) values = values.flatMap(one => follow(one, step))
  return { values, many: steps.includes('[*]') }
}

function follow(value: unknown, step: string): unknown[] {
  if (step.startsWith('[')) {
    if (!Array.isArray(value)) return []
    if (step === '[*]') return value
    const at = Number(step.slice(1, -1))
    return value.length > (at < 0 ? -at - 1 : at) ? [value.at(at)] : []
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return []
  return [(value as Record<string, unknown>)[step]]
}
