import type { Answer, Delta, Fields, Message, Tool, Usage } from '../core/chat.ts'
import type { Emit, Log, Model, Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import type { StoredTurn } from '../stores/contracts.ts'
import { CLIENT_TOOL, type Script, TOOLS } from './script.ts'
import { Sessions } from './sessions.ts'

/** What was seen of one turn in one mode. */
export interface Seen {
  readonly answer?: Answer
  readonly error?: unknown
  readonly heard: readonly Delta[]
  /** Pieces that came after the promise had settled. */
  readonly late: number
  readonly modelCalls: number
  /** The usage of all model calls that answered, and of failed ones that said theirs. */
  readonly spent: Usage | undefined
  readonly left: boolean
  /** Model calls and tools that began after the client had left. */
  readonly begunAfterLeaving: number
  /** What memory holds at the end. */
  readonly kept: readonly StoredTurn[]
}

/** Plays a script through a chain, as a call or as a stream. */
export async function play(
  script: Script,
  chain: (model: Model, sessions: Sessions) => Model,
  mode: 'call' | 'stream'
): Promise<Seen> {
  const world = new World(script)
  const sessions = new Sessions(script.past, script.isSummarised)
  const heard: Delta[] = []
  let settled = false
  let late = 0
  const emit: Emit = delta => {
    if (settled) late++
    heard.push(delta)
    return undefined
  }
  const turn = world.turn(mode === 'stream' ? emit : undefined)
  let answer: Answer | undefined
  let error: unknown
  try {
    answer = await chain(world.model, sessions)(turn)
  } catch (reason) {
    error = reason
  }
  settled = true
  await new Promise(resolve => setImmediate(resolve))
  const { modelCalls, left, begunAfterLeaving } = world
  return {
    ...(answer && { answer }),
    ...(error !== undefined && { error }),
    heard,
    late,
    modelCalls,
    spent: addUsage(world.spent, sessions.aside),
    left,
    begunAfterLeaving,
    kept: sessions.kept
  }
}

/** The model, the tools and the client of one play. */
class World {
  modelCalls = 0
  spent: Usage | undefined
  begunAfterLeaving = 0
  readonly #script: Script
  readonly #client = new AbortController()
  #events = 0

  constructor(script: Script) {
    this.#script = script
  }

  get left(): boolean {
    return this.#client.signal.aborted
  }

  readonly model: Model = async turn => {
    this.#begin()
    const entry = this.#script.entries[this.modelCalls++]
    turn.signal.throwIfAborted()
    await undefined
    const content = entry?.pieces.join('') ?? ''
    if (entry?.error && !entry.late) throw entry.error
    for (const piece of entry?.pieces ?? []) {
      turn.signal.throwIfAborted()
      await turn.emit?.({ type: 'text', text: piece })
    }
    if (entry?.error) throw entry.error
    const calls = entry?.calls ?? []
    for (const [index, call] of calls.entries()) await turn.emit?.({ type: 'call', index, ...call })
    turn.signal.throwIfAborted()
    const message = { role: 'assistant' as const, id: `answer_${this.modelCalls}`, content, calls }
    this.spent = addUsage(this.spent, entry?.usage)
    return {
      message,
      messages: [message],
      finish: entry?.finish ?? 'stop',
      finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
      ...(entry?.usage && { usage: entry.usage }),
      offered: turn.prompt.tools
    }
  }

  turn(emit: Emit | undefined): Turn {
    const question: Message = { role: 'user', id: 'question', content: 'How many?' }
    return {
      ...TURN,
      session: { ...TURN.session, named: this.#script.isNamed },
      policy: {
        ...TURN.policy,
        ...this.#script.policy,
        limits: { ...TURN.policy.limits, ...this.#script.limits }
      },
      startedAt: Date.now(),
      question: question.id,
      prompt: { model: 'sim', messages: [question], tools: this.#tools(), params: this.#params() },
      emit,
      signal: this.#client.signal
    }
  }

  #params(): Fields {
    return this.#script.wantsJson ? { response_format: { type: 'json_object' } } : {}
  }

  #tools(): ReadonlyMap<string, Tool> {
    const tools = TOOLS.map((name): [string, Tool] => [
      name,
      {
        name,
        kind: 'builtin',
        run: (call, turn) => this.#runTool(call.name, turn),
        ...(this.#script.direct.includes(name) && { returnDirect: true })
      }
    ])
    return new Map([...(this.#script.hasTools ? tools : []), [CLIENT_TOOL, { name: CLIENT_TOOL, kind: 'client' }]])
  }

  async #runTool(name: string, turn: Turn) {
    this.#begin()
    await undefined
    turn.signal.throwIfAborted()
    return name === 'broken_tool'
      ? { content: 'The tool broken_tool failed.', status: 'error' as const, code: 'tool_http_error' }
      : { content: '{"units":17}', status: 'ok' as const, attempts: 1 }
  }

  #begin(): void {
    if (this.left) this.begunAfterLeaving++
    if (this.#events++ === this.#script.leavesAt) this.#client.abort(new Error('the client went away'))
  }
}

const log: Log = { info() {}, warn() {}, error() {}, debug() {} }

const TURN: Omit<Turn, 'startedAt' | 'question' | 'prompt' | 'signal'> = {
  id: 'turn_01HZZZZZZZZZZZZZZZZZZZZZZZ',
  round: 0,
  session: { id: 's1', key: 'session-1', named: true, branch: 'main' },
  principal: { tenant: 'default', key: 'dev', roles: new Set(), models: ['*'], tools: { allow: ['*'], deny: [] } },
  policy: {
    limits: {
      maxCallsPerTool: 40,
      perTool: {},
      exemptTools: [],
      maxCalls: 4,
      maxIdenticalCalls: 3,
      maxRounds: 20,
      maxTurnMs: -1,
      limitCheck: 'call',
      onLimit: 'stop'
    },
    toolExecution: 'auto',
    preamble: 'show',
    toolSearch: { mode: 'off', accumulate: true },
    memory: { mode: 'on', recall: 'all', window: {} },
    structuredOutput: { maxRetries: 2, onExhausted: 'return' },
    maxParallel: 16
  },
  request: { id: 'req_1', hops: 0, context: {} },
  tell() {},
  log
}
