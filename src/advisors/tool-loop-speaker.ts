import type { Delta, Tool, ToolCall } from '../core/chat.ts'
import { hasGatewayTool } from '../core/has-gateway-tool.ts'
import type { Emit, Turn } from '../core/turn.ts'
import type { CallIds } from './tool-loop-call-ids.ts'

/**
 * What the client hears of a loop (W12): the text of every round as it comes, a blank line between rounds, no inner
 * call. Where only the last round's text is wanted (`preamble: hide`, a JSON `response_format`) it is held back until
 * the round turns out to be the last.
 */
export class Speaker {
  readonly #emit: Emit | undefined
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #isManual: boolean
  readonly #wantsLast: boolean
  /** There is a tool that the gateway runs, as far as is known. */
  #hasOurs: boolean
  /** An advisor further in may add one, which is known when the round is over. */
  readonly #mayAdd: boolean
  #passes = false
  /** They go out under ids of the gateway's choice. */
  readonly renames: boolean
  #held: Delta[] = []
  /** The last text sent, to see whether a blank line is wanted. */
  #last = ''
  #newRound = false

  constructor(turn: Turn, mayAdd: boolean) {
    this.#mayAdd = mayAdd
    this.#emit = turn.emit
    this.#tools = turn.prompt.tools
    this.#isManual = turn.policy.toolExecution === 'manual'
    this.renames = this.#isManual || turn.resumes !== undefined
    this.#wantsLast = turn.policy.preamble === 'hide' || wantsJson(turn.prompt.params.response_format)
    this.#hasOurs = hasGatewayTool(turn.prompt.tools)
  }

  /** Calls of this round go out as they come. */
  get passes(): boolean {
    return this.#passes
  }

  /** What the model was offered: an advisor further in may have added tools. Holds from the next round on. */
  saw(offered: ReadonlyMap<string, Tool>): void {
    this.#hasOurs ||= hasGatewayTool(offered)
  }

  /**
   * What one round goes by: its listener, absent when nobody listens, and whether that hears of calls at all.
   * `mayCall`: calls of this round can be meant for the client, who knows them by these `ids`.
   */
  round(mayCall: boolean, ids: CallIds): Pick<Turn, 'emit' | 'callsAreHeld'> {
    this.#held = []
    this.#newRound = this.#last !== ''
    this.#passes = mayCall && (this.#isManual || !(this.#hasOurs || this.#mayAdd))
    if (this.#emit === undefined) return { emit: undefined }
    if (this.#passes) return { emit: this.#passing(ids), callsAreHeld: false }
    if (this.#hasOurs && this.#wantsLast) return { emit: delta => this.#hold(delta), callsAreHeld: true }
    // Calls are held back: which of them are the client's is known when all are there.
    return { emit: delta => (delta.type === 'call' ? undefined : this.#send(delta)), callsAreHeld: true }
  }

  /** Sends what the last round held back: its text if it was held, and the client's calls. */
  async end(calls: readonly ToolCall[]): Promise<void> {
    if (this.#emit === undefined) return
    for (const delta of this.#held) await this.#send(delta)
    for (const [index, { id, name, arguments: text, extra }] of calls.entries()) {
      if (this.#isManual || (this.#passes && this.#tools.has(name))) continue
      await this.#emit({ type: 'call', index, id, name, arguments: text, ...(extra && { extra }) })
    }
  }

  /** A text of the gateway's own, as a piece. */
  async say(text: string): Promise<void> {
    this.#newRound = this.#last !== ''
    await this.#send({ type: 'text', text })
  }

  /**
   * Calls of the client's own tools go out as they come. One by another name may be meant for a tool of the gateway that
   * an advisor adds further in, so it waits for the end of the round. Where nothing runs by itself all go out.
   */
  #passing(ids: CallIds): Emit {
    const send: Emit = delta => (delta.type === 'call' ? this.#emit?.(delta) : this.#send(delta))
    const out = this.renames ? ids.heardBy(send) : send
    if (this.#isManual) return out
    const waiting = new Set<number>()
    return delta => {
      if (delta.type !== 'call') return out(delta)
      if (delta.name !== undefined && !this.#tools.has(delta.name)) waiting.add(delta.index)
      return waiting.has(delta.index) ? undefined : out(delta)
    }
  }

  #hold(delta: Delta): undefined | Promise<void> {
    if (delta.type === 'reasoning') return this.#emit?.(delta)
    if (delta.type !== 'call') this.#held.push(delta)
    return undefined
  }

  #send(delta: Delta): undefined | Promise<void> {
    const emit = this.#emit
    if (emit === undefined) return undefined
    if (delta.type !== 'text' || delta.text === '') return emit(delta)
    const apart = this.#newRound && !/\s$/.test(this.#last) && !/^\s/.test(delta.text)
    this.#newRound = false
    this.#last = delta.text
    if (!apart) return emit(delta)
    const pause = emit({ type: 'text', text: '\n\n' })
    return pause ? pause.then(() => emit(delta)) : emit(delta)
  }
}

function wantsJson(format: unknown): boolean {
  const type = (format as { type?: unknown } | undefined)?.type
  return type === 'json_object' || type === 'json_schema'
}
