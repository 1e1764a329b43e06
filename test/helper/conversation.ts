import type { Test } from 'tap'
import { memory } from '../../src/advisors/memory.ts'
import { recallView } from '../../src/advisors/memory-recall.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Answer, Message, ToolCall } from '../../src/core/chat.ts'
import type { MemoryPolicy } from '../../src/core/policy.ts'
import { textOf } from '../../src/core/text.ts'
import { advised, type Run, type Turn } from '../../src/core/turn.ts'
import { joinWaiting } from '../../src/http/turn-join.ts'
import { supersede } from '../../src/http/turn-supersede.ts'
import type { Stores } from '../../src/stores/contracts.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, type Scripted, scripted, toolbox } from './turn.ts'

const ALL = ['completed', 'limited', 'failed', 'cancelled', 'superseded', 'awaiting_client'] as const

/** A session with memory, asked turn by turn; `seen` is what the model was shown, a line a message. */
export class Conversation {
  readonly stores: Stores
  readonly policy: MemoryPolicy
  seen: string[][] = []
  lastTurn: Turn | undefined
  #turns = 0
  #messages = 0

  constructor(stores: Stores, policy: Partial<MemoryPolicy> = {}) {
    this.stores = stores
    this.policy = { mode: 'on', recall: 'answers', window: { maxTurns: 20 }, ...policy }
  }

  async ask(wire: string | readonly Wire[], script: readonly Scripted[], changes: Partial<Turn> = {}): Promise<Answer> {
    const parts = typeof wire === 'string' ? [{ user: wire }] : wire
    // As the edge does it.
    const waiting = await this.stores.calls.waiting('session-key-1')
    const asked = parts.map(part => decoded(part, `msg_${++this.#messages}`))
    const { messages, resumes, question, superseded } = joinWaiting(asked, waiting)
    const n = ++this.#turns
    const model = scripted(script)
    // Providers mint ids that are there once.
    const unique = async (turn: Turn) => {
      const answer = await model(turn)
      const message = { ...answer.message, id: `${answer.message.id}_of_${n}` }
      return { ...answer, message, messages: [message] }
    }
    const chain = advised(unique, memory({ store: this.stores.sessions }), toolLoop({ guards: [limits] }))
    const base = aTurn({
      id: resumes?.id ?? `turn_${n}`,
      ...(resumes?.answerId && { resumes: resumes.answerId }),
      question: question ?? (messages.findLast(({ role }) => role === 'user') ?? messages[0])?.id ?? '',
      policy: { ...aPolicy, memory: this.policy },
      ...changes
    })
    const turn = { ...base, prompt: { ...base.prompt, messages, tools: tools() } }
    await supersede({ stores: this.stores }, turn, superseded)
    try {
      return await chain(turn)
    } finally {
      this.seen = model.seen.map(({ prompt }) => prompt.messages.map(line))
      this.lastTurn = model.seen.at(-1)
    }
  }

  async remembered(): Promise<string[]> {
    return (await recallView(this.stores.sessions, 'session-key-1', this.policy)).map(line)
  }

  async kept(): Promise<[string, string, string[]][]> {
    const turns = await this.stores.sessions.turns('session-key-1', ALL, 1000)
    return turns.map(({ id, status, messages }) => [id, status, messages.map(line)])
  }
}

export type Wire =
  | { system: string }
  | { user: string }
  | { assistant: string; calls?: readonly ToolCall[] }
  | { tool: string; of: string }

function decoded(part: Wire, id: string): Message {
  if ('system' in part) return { role: 'system', id, content: part.system }
  if ('user' in part) return { role: 'user', id, content: part.user }
  if ('tool' in part) return { role: 'tool', id, callId: part.of, content: part.tool }
  return { role: 'assistant', id, content: part.assistant, calls: part.calls ?? [] }
}

function line(message: Message): string {
  const text = textOf(message.content)
  switch (message.role) {
    case 'tool':
      return `result ${message.callId}: ${text}`
    case 'assistant':
      return `assistant: ${[text, ...message.calls.map(({ id, name }) => `<${id} ${name}>`)].filter(Boolean).join(' ')}`
    default:
      return `${message.role}: ${text}`
  }
}

const units: Run = async call => ({ content: `{"of":${call.arguments}}`, status: 'ok', attempts: 1 })
const tools = () => toolbox({ stock: units, screen: undefined })
/** A call of the gateway's tool. */
export const stock = (id: string, sku = 'BX-1'): ToolCall => ({ id, name: 'stock', arguments: `"${sku}"` })
/** A call of the client's tool. */
export const screen = (id: string): ToolCall => ({ id, name: 'screen', arguments: '{}' })

/** A conversation over a store of its own. */
export async function aConversation(t: Test, policy: Partial<MemoryPolicy> = {}): Promise<Conversation> {
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  t.teardown(() => stores.close())
  return new Conversation(stores, policy)
}
