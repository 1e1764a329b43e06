import { parseArguments } from '../core/arguments.ts'
import type { Tool } from '../core/chat.ts'
import type { ToolView } from '../core/finder.ts'
import { clampResults, maxResultsOf } from '../core/max-results.ts'
import type { ToolSearchPolicy } from '../core/policy.ts'
import type { ToolResult, Turn } from '../core/turn.ts'

const MAX_GROUPS_NAMED = 20

export interface SearchToolOptions {
  readonly name: string
  readonly view: ToolView
  readonly policy: ToolSearchPolicy
  /** Told of every search before its result goes to the model. */
  readonly onFound: (turn: Turn, names: readonly string[]) => Promise<void>
}

/**
 * The tool that finds tools (contract §5). Its definition depends on nothing but the configured numbers and the groups
 * of the index, so it is the same in every round. The result is a JSON array of names, best first.
 */
export function searchTool({ name, view, policy, onFound }: SearchToolOptions): Tool {
  const numbers = maxResultsOf(policy)
  return {
    name,
    kind: 'builtin',
    description: descriptionOf(view.groups),
    parameters: parametersOf(numbers, view.groups),
    annotations: { readOnly: true },
    async run(call, turn) {
      const parsed = parseArguments(call.arguments)
      if (!parsed.ok) return refused(name, parsed.reason)
      const { query, maxResults, group } = parsed.value
      if (typeof query !== 'string') return refused(name, 'query must be a text, such as a few keywords.')

      const startedAt = performance.now()
      const { form, results } = await view.search(query, {
        maxResults: clampResults(maxResults, numbers),
        ...(typeof group === 'string' && view.groups.includes(group) && { group })
      })
      const durationMs = performance.now() - startedAt
      const found = results.map(hit => hit.name)
      turn.tell({ type: 'search', round: turn.round, index: view.kind, form, found, durationMs })
      await onFound(turn, found)
      return { content: JSON.stringify(found), status: 'ok' }
    }
  }
}

function refused(name: string, why: string): ToolResult {
  return { content: `The arguments of ${name} were not accepted: ${why}`, status: 'refused', code: 'tool_args_invalid' }
}

function descriptionOf(groups: readonly string[]): string {
  const text =
    'Finds tools that are not listed yet, by what they do. Give a few keywords and search for one capability at a ' +
    'time; several searches in one answer are allowed. The result is a list of tool names, best first; these tools ' +
    'can be called from your next answer on.'
  if (groups.length === 0) return text
  const named = groups.slice(0, MAX_GROUPS_NAMED).join(', ')
  const rest = groups.length > MAX_GROUPS_NAMED ? `, and ${groups.length - MAX_GROUPS_NAMED} more` : ''
  return `${text} Groups of tools: ${named}${rest}.`
}

function parametersOf({ byDefault, most }: { byDefault: number; most: number }, groups: readonly string[]) {
  return {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'A few keywords for one capability, or the name of a tool.' },
      maxResults: { type: 'integer', description: `How many tools to find: 1 to ${most}, default ${byDefault}.` },
      ...(groups.length > 0 && {
        group: { type: 'string', enum: groups, description: 'Search only the tools of this group.' }
      })
    },
    required: ['query']
  }
}
