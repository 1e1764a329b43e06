import type { Answer, Delta, Finish, Message, Tool, ToolCall, Usage } from '../../src/core/chat.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import type { Policy } from '../../src/core/policy.ts'
import { replay } from '../../src/core/replay.ts'
import type { Log, Model, Run, Turn } from '../../src/core/turn.ts'

export const silent: Log = { info() {}, warn() {}, error() {}, debug() {} }

export const aPolicy: Policy = {
  limits: {
    maxCallsPerTool: 40,
    perTool: {},
    exemptTools: [],
    maxCalls: 150,
    maxIdenticalCalls: 3,
    maxRounds: 200,
    maxTurnMs: 600_000,
    limitCheck: 'call',
    onLimit: 'stop'
  },
  toolExecution: 'auto',
  preamble: 'show',
  toolSearch: { mode: 'off', accumulate: true },
  memory: { mode: 'off', recall: 'answers', window: { maxTurns: 20 } },
  structuredOutput: { maxRetries: 3, onExhausted: 'return' },
  maxParallel: 16
}

/** A turn that asks one question; every field can be replaced. `told` collects its events. */
export function aTurn(changes: Partial<Turn> = {}, text = 'How many BX-1 do we have?'): Turn & { told: TurnEvent[] } {
  const told: TurnEvent[] = []
  const question: Message = { role: 'user', id: 'msg_question', content: text }
  return {
    id: 'turn_01HZZZZZZZZZZZZZZZZZZZZZZZ',
    startedAt: Date.now(),
    question: question.id,
    round: 0,
    prompt: { model: 'sim', messages: [question], tools: new Map(), params: {} },
    signal: new AbortController().signal,
    session: { id: 's1', key: 'session-key-1', named: true, branch: 'main' },
    principal: {
      tenant: 'default',
      key: 'dev',
      roles: new Set(['chat']),
      models: ['*'],
      tools: { allow: ['*'], deny: [] }
    },
    policy: aPolicy,
    request: { id: 'req_1', hops: 0, context: {} },
    tell: event => void told.push(event),
    log: silent,
    told,
    ...changes
  }
}

export interface Scripted {
  readonly text?: string
  readonly calls?: readonly ToolCall[]
  readonly finish?: Finish
  readonly usage?: Usage
  readonly error?: unknown
  /** The error comes after this many characters of the text were sent. */
  readonly errorAfter?: number
}

/** A model that answers by a script, one entry a call, in pieces when somebody listens; `seen` has the turns it got. */
export function scripted(entries: readonly Scripted[]): Model & { seen: Turn[] } {
  const seen: Turn[] = []
  const model = async (turn: Turn): Promise<Answer> => {
    const entry = entries[seen.length] ?? { text: '(script used up)' }
    seen.push(turn)
    turn.signal.throwIfAborted()
    const { text = '', calls = [], error, errorAfter = 0 } = entry
    if (error !== undefined) {
      if (errorAfter > 0) await turn.emit?.({ type: 'text', text: text.slice(0, errorAfter) })
      throw error
    }
    const message = { role: 'assistant' as const, id: `msg_${seen.length}`, content: text, calls }
    await replay(message, turn.emit)
    return {
      message,
      messages: [message],
      finish: entry.finish ?? 'stop',
      ...(entry.usage && { usage: entry.usage }),
      offered: turn.prompt.tools
    }
  }
  return Object.assign(model, { seen })
}

/** A listener that keeps what it hears. */
export function listener(): { emit: NonNullable<Turn['emit']>; heard: Delta[]; text: () => string } {
  const heard: Delta[] = []
  return {
    emit: delta => {
      heard.push(delta)
      return undefined
    },
    heard,
    text: () => heard.map(delta => (delta.type === 'text' ? delta.text : '')).join('')
  }
}

/** Tools by name; a function runs, `undefined` is the client's own. */
export function toolbox(runs: Record<string, Run | undefined>): ReadonlyMap<string, Tool> {
  return new Map(
    Object.entries(runs).map(([name, run]): [string, Tool] => [
      name,
      { name, description: name, kind: run ? 'builtin' : 'client', ...(run && { run }) }
    ])
  )
}
