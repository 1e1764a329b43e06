import { readFileSync } from 'node:fs'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import { type ToolSearchOptions, toolSearch } from '../../src/advisors/tool-search.ts'
import type { Message, Tool, ToolCall } from '../../src/core/chat.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import type { ToolSearchPolicy } from '../../src/core/policy.ts'
import type { Session } from '../../src/core/principal.ts'
import { advised, type Turn } from '../../src/core/turn.ts'
import type { Stores } from '../../src/stores/contracts.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { toolFinder } from '../../src/tools/index/finder.ts'
import { aPolicy, aTurn, type Scripted, scripted } from './turn.ts'

const run: NonNullable<Tool['run']> = async () => ({ content: '17', status: 'ok' })
/** The 28 tools of the loop cases, as webhooks that answer 17. */
export const catalog: Tool[] = JSON.parse(readFileSync('test/cases/loop/catalog-28.json', 'utf8')).map(
  (tool: Pick<Tool, 'name' | 'description' | 'parameters'>) => ({ ...tool, kind: 'webhook', run })
)
const toolset = (tools: readonly Tool[]): ReadonlyMap<string, Tool> => new Map(tools.map(tool => [tool.name, tool]))
/** A tool of the client. */
export const client = (name: string): Tool => ({ name, kind: 'client' })

let nth = 0
/** A call of the search tool. */
export const search = (query: unknown, more: object = {}): ToolCall => ({
  id: `call_${++nth}`,
  name: 'toolSearchTool',
  arguments: JSON.stringify({ query, ...more })
})
/** A call without arguments. */
export const call = (name: string): ToolCall => ({ id: `call_${++nth}`, name, arguments: '{}' })

/** Tool search over a real store and a real finder. */
export async function bench(options: Partial<ToolSearchOptions> = {}, stores?: Stores) {
  const opened = stores ?? (await openSqlite({ path: ':memory:', synchronous: 'normal' }))
  const finder = toolFinder({ kind: 'regex', views: { max: 1000 }, maxIndexes: 8 })
  const advisor = toolSearch({
    finder,
    store: opened.sessions,
    toolName: 'toolSearchTool',
    autoMinTokens: 3000,
    systemSuffix: '\nSuffix.',
    ...options
  })
  return { stores: opened, finder, advisor }
}
type Bench = Awaited<ReturnType<typeof bench>>

interface Asked {
  readonly tools?: readonly Tool[]
  readonly session?: Session
  readonly policy?: Partial<ToolSearchPolicy>
  readonly messages?: readonly Message[]
  readonly params?: Turn['prompt']['params']
}

export const session = (id: string, named = true): Session => ({ id, key: `key-of-${id}`, named, branch: 'main' })

/** Plays one turn through loop and search; `tools` are the names each model call was shown. */
export async function play({ advisor }: Bench, script: Scripted[], asked: Asked = {}) {
  const model = scripted(script)
  const turn = aTurn({
    session: asked.session ?? session('s1'),
    policy: { ...aPolicy, toolSearch: { mode: 'on', accumulate: true, maxResults: 1, ...asked.policy } }
  })
  const prompt = {
    ...turn.prompt,
    tools: toolset(asked.tools ?? catalog),
    params: asked.params ?? {},
    ...(asked.messages && { messages: [...asked.messages, ...turn.prompt.messages] })
  }
  const answer = await advised(model, toolLoop({ guards: [] }), advisor)({ ...turn, id: `turn_${++nth}`, prompt })
  const tools = model.seen.map(seen => [...seen.prompt.tools.keys()])
  return { answer, tools, seen: model.seen, told: turn.told }
}
/** The events of one type. */
export const told = <T extends TurnEvent['type']>(events: readonly TurnEvent[], type: T) =>
  events.filter((event): event is Extract<TurnEvent, { type: T }> => event.type === type)
/** The last tool result that the model was shown. */
export const result = (turn: Turn | undefined) => turn?.prompt.messages.findLast(({ role }) => role === 'tool')?.content
