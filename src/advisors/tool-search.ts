import type { Tool } from '../core/chat.ts'
import type { ToolFinder } from '../core/finder.ts'
import type { Session } from '../core/principal.ts'
import { type Advisor, revise, type Turn } from '../core/turn.ts'
import { type Attached, attachedTools, definitionBytes } from './tool-search-attached.ts'
import { SearchState, type SearchStore } from './tool-search-state.ts'
import { withSuffix } from './tool-search-suffix.ts'
import { searchTool } from './tool-search-tool.ts'

export interface ToolSearchOptions {
  readonly finder: ToolFinder
  readonly store: SearchStore
  /** Name of the search tool. */
  readonly toolName: string
  /** Appended to the system message while search is on. Default: a sentence that names the search tool. */
  readonly systemSuffix?: string | undefined
  /** `auto` is on beyond this many tokens of definitions (bytes ÷ 4). */
  readonly autoMinTokens: number
}

const BYTES_PER_TOKEN = 4

/**
 * Shows the model a search tool in place of all gateway tools, and those that it has found (contract §5). Stands
 * inside the loop and narrows every round anew: what is offered is the search tool, the client's tools, pinned tools,
 * then found ones in the order of discovery, so that each round's list begins with the one before.
 */
export function toolSearch(options: ToolSearchOptions): Advisor {
  const { store, toolName, autoMinTokens } = options
  const suffix = options.systemSuffix ?? suffixFor(toolName)
  const isLarge = ({ bytes }: Attached): boolean => bytes > autoMinTokens * BYTES_PER_TOKEN
  // A request has a session object of its own, which all rounds of its turn share.
  const states = new WeakMap<Session, SearchState>()

  const stateOf = async (turn: Turn, attached: Attached): Promise<SearchState> => {
    const known = states.get(turn.session)
    if (known?.turnId === turn.id) return known
    const state = await SearchState.of(store, turn, () => isLarge(attached))
    states.set(turn.session, state)
    if (isShadowed(turn, toolName)) turn.tell({ type: 'note', note: `shadowed:${toolName}` })
    return state
  }
  return {
    name: 'tool-search',
    async advise(turn, next) {
      const { mode } = turn.policy.toolSearch
      if (mode === 'off') return next(turn)
      const attached = attachedTools(turn.prompt.tools)
      if (attached.hidden.size === 0) return next(mode === 'on' ? offer(turn, attached, [], undefined) : turn)
      const state = await stateOf(turn, attached)
      if (!state.on) return next(turn)

      const found = state.offered(turn, chosenTools(turn, attached)).flatMap(name => attached.hidden.get(name) ?? [])
      if (isShadowed(turn, toolName)) return next(offer(turn, attached, found, undefined))
      const search = toolFor(turn, attached, state, options)
      tellSaved(turn, attached, found, search)
      const shown = offer(turn, attached, found, search)
      return next(revise(shown, { messages: withSuffix(turn.prompt.messages, suffix) }))
    }
  }
}

/** The client's tool of that name wins (contract §18, 2.3); then there is no way to search. */
function isShadowed({ prompt }: Turn, toolName: string): boolean {
  const tool = prompt.tools.get(toolName)
  return tool !== undefined && tool.run === undefined
}

function toolFor(turn: Turn, { hidden }: Attached, state: SearchState, { finder, toolName }: ToolSearchOptions): Tool {
  const { session, prompt, policy } = turn
  return searchTool({
    name: toolName,
    view: finder.view(session.key, prompt.tools),
    policy: policy.toolSearch,
    // Pinned tools may be found like others, but are there anyway.
    onFound: (during, names) =>
      state.reveal(
        during,
        names.filter(name => hidden.has(name))
      )
  })
}

function offer(turn: Turn, { clients, pinned }: Attached, found: readonly Tool[], search: Tool | undefined): Turn {
  const tools = [...(search ? [search] : []), ...clients, ...pinned, ...found]
  return revise(turn, { tools: new Map(tools.map(tool => [tool.name, tool])) })
}

/** Hidden tools that `tool_choice` names, alone or in a list of allowed ones: a model cannot choose what is not offered. */
function chosenTools({ prompt }: Turn, { hidden }: Attached): readonly string[] {
  const choice = prompt.params.tool_choice
  if (!isRecord(choice)) return []
  const allowed = isRecord(choice.allowed_tools) ? choice.allowed_tools.tools : choice.tools
  return [choice, ...(Array.isArray(allowed) ? allowed : [])].flatMap(each => {
    const name = isRecord(each) && isRecord(each.function) ? each.function.name : undefined
    return typeof name === 'string' && hidden.has(name) ? [name] : []
  })
}

function tellSaved(turn: Turn, { hidden, bytes, pinned }: Attached, found: readonly Tool[], search: Tool): void {
  if (found.length === hidden.size) return
  const shown = [search, ...pinned, ...found].reduce((sum, tool) => sum + definitionBytes(tool), 0)
  const tokens = Math.floor((bytes - shown) / BYTES_PER_TOKEN)
  if (tokens > 0) turn.tell({ type: 'definitions.saved', tokens })
}

function suffixFor(toolName: string): string {
  return (
    `\n\nMore tools exist than are listed. Before you say that something cannot be done, look for a tool ` +
    `for it with ${toolName}.`
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
