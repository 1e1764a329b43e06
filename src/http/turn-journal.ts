import type { Message, ToolCall } from '../core/chat.ts'
import { placeOf } from '../core/conversation.ts'
import { effectOf } from '../core/effect-of.ts'
import { heldCallId } from '../core/held-calls.ts'
import { newMessageId } from '../core/ids.ts'
import type { ToolResult, Turn } from '../core/turn.ts'
import type { TurnJournal } from '../core/turn-journal.ts'
import type { JournalEnd, JournalHead, JournalRef, JournalStore, TurnRow } from '../stores/contracts.ts'

export interface WrittenJournalOptions {
  readonly store: Pick<JournalStore, 'begin' | 'dispatch' | 'settle' | 'end'>
  readonly ref: JournalRef
  /** Asked for when there is something to be written, once. Absent: it was written, by the request that it goes on from. */
  readonly head?: (() => JournalHead) | undefined
  /** Run view of the turn as it is. */
  readonly run: () => TurnRow
  /** Told once, when the first call has left. */
  readonly onDispatch: () => void
}

/** The journal of one request's part of a turn. Nothing is written before the first call leaves. */
export class WrittenJournal implements TurnJournal {
  readonly #options: WrittenJournalOptions
  #head: (() => JournalHead) | undefined
  #isBegun: boolean
  /** Of the loop, not written yet. */
  #messages: Message[] = []
  /** Calls that have left and have no result yet. */
  readonly #open = new Set<string>()
  /** Settles whose writing nobody has waited for. */
  #writing: Promise<unknown> = Promise.resolve()
  readonly #late: Promise<unknown>[] = []
  #hasDispatched = false

  constructor(options: WrittenJournalOptions) {
    this.#options = options
    this.#head = options.head
    this.#isBegun = options.head === undefined
  }

  /** A call of this request has left. */
  get hasDispatched(): boolean {
    return this.#hasDispatched
  }

  /** A retry is to find the turn whether or not a call leaves. Resolves when it is on disk. */
  async begin(): Promise<void> {
    const { ref, store, run } = this.#options
    const head = this.#takeHead()
    if (head) await store.begin({ ref, head, run: run() })
  }

  async dispatch(call: ToolCall, turn: Turn): Promise<void> {
    const { ref, store, run, onDispatch } = this.#options
    const { round, index } = placeOf(call, turn)
    const tool = turn.prompt.tools.get(call.name)
    const head = this.#takeHead()
    this.#open.add(call.id)
    if (!this.#hasDispatched) {
      this.#hasDispatched = true
      onDispatch()
    }
    const written = store.dispatch({
      ...{ ref, head, run: run(), messages: this.#taken() },
      call: {
        ...{ id: heldCallId(turn.id, round, index), round, index, callId: call.id, tool: call.name },
        ...{ toolVersion: tool?.version ?? 0, effect: effectOf(tool), arguments: call.arguments }
      }
    })
    await Promise.all([this.#writing, written])
  }

  keep(message: Message): void {
    this.#messages.push(message)
    if (message.role !== 'tool' || !this.#open.delete(message.callId)) return
    const { ref, store } = this.#options
    const settling = store.settle({ ref, callId: message.callId, messages: this.#taken() })
    // Told to whoever waits next; nobody may be.
    settling.catch(() => {})
    this.#writing = Promise.all([this.#writing, settling])
    this.#writing.catch(() => {})
  }

  late(call: ToolCall, { signal }: Turn, result: Promise<ToolResult>): void {
    const heard = result.then(({ content, status }) => {
      // Else the loop has it.
      if (!signal.aborted) return
      this.keep({
        role: 'tool',
        id: newMessageId(),
        callId: call.id,
        content,
        ...(status !== 'ok' && { isError: true })
      })
    })
    this.#late.push(heard)
  }

  /** Resolves when all is over and written that goes on after the turn. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#late)
    await this.#writing.catch(() => {})
  }

  /** Something of the turn is in the store, and its end has to be. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /** Writes how it ended. Rejects where something before could not be written. */
  end({ state, outcome }: Pick<JournalEnd, 'state' | 'outcome'>): Promise<unknown> {
    const { ref, store } = this.#options
    return Promise.all([this.#writing, store.end({ ref, state, outcome })])
  }

  #takeHead(): JournalHead | undefined {
    if (this.#isBegun) return undefined
    this.#isBegun = true
    return this.#head?.()
  }

  #taken(): readonly Message[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }
}
