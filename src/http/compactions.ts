import type { ServerResponse } from 'node:http'
import type { Answer, Message } from '../core/chat.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { ulid } from '../core/ids.ts'
import type { Model, Turn } from '../core/turn.ts'
import type { TurnStatus } from '../core/turn-status.ts'
import type { TurnStore } from '../stores/contracts.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { RunRecord } from './run-record.ts'
import { type Ending, type RunHead, runView } from './run-view.ts'

export interface CompactionsOptions {
  /** The model that writes summaries, by the name it has here, and the way to it. */
  readonly model: string
  readonly chat: Model
  /** Summarises what is due: whether it was written, or `undefined` when nothing was due and nobody was asked. */
  readonly compact: (turn: Turn, ask: (messages: readonly Message[]) => Promise<Answer>) => Promise<boolean | undefined>
  readonly turns: Pick<TurnStore, 'save'>
  readonly metrics: Pick<Metrics, 'turnEvent' | 'compaction'>
}

/** A turn that is over, as far as compaction needs it. */
export interface EndedTurn {
  readonly turn: Turn
  readonly head: RunHead
}

/** What a compaction may take. Nobody waits for it, but it holds a model. */
const MAX_MS = 600_000

/**
 * Summaries of sessions, made once an answer has left: one at a time for a session. Each is a run of its own, of kind
 * `compaction`, booked to the key whose turn it followed. One that fails leaves memory as it was, and is tried again
 * after the session's next turn.
 */
export class Compactions {
  readonly #options: CompactionsOptions
  /** By the key of their session. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #closing = new AbortController()

  constructor(options: CompactionsOptions) {
    this.#options = options
  }

  /** To be called when a turn has come to an answer, which `raw` brings to the client. Never throws, never waits. */
  after({ turn, head }: EndedTurn, status: TurnStatus, raw: ServerResponse): void {
    if (turn.policy.memory.mode === 'off' || (status !== 'completed' && status !== 'limited')) return
    const begin = () => this.#begin({ turn, head })
    if (raw.closed) setImmediate(begin)
    else raw.once('close', begin)
  }

  /** Gives up what runs and resolves when nothing does; nothing begins any more. */
  async close(): Promise<void> {
    this.#closing.abort(new GatewayError('shutting_down', 'The gateway is stopping.'))
    await Promise.all(this.#running.values())
  }

  #begin(ended: EndedTurn): void {
    const { key } = ended.turn.session
    if (this.#closing.signal.aborted || this.#running.has(key)) return
    const done = this.#run(ended).finally(() => this.#running.delete(key))
    this.#running.set(key, done)
  }

  async #run({ turn, head }: EndedTurn): Promise<void> {
    const { compact, chat, model } = this.#options
    const time = new AbortController()
    const timer = setTimeout(() => time.abort(tookTooLong()), MAX_MS).unref()
    const signal = AbortSignal.any([time.signal, this.#closing.signal])
    const run = new CompactionRun({ ...head, turnId: `turn_${ulid()}`, kind: 'compaction', model, tags: [] })
    const tell: Turn['tell'] = event => {
      run.record.tell(event)
      this.#options.metrics.turnEvent(event)
    }
    const base: Turn = { ...turn, id: run.head.turnId, startedAt: run.head.createdAt, emit: undefined, keep: undefined }
    const ask = async (messages: readonly Message[]): Promise<Answer> => {
      signal.throwIfAborted()
      const prompt = { model, messages, tools: new Map(), params: {} }
      const question = messages.at(-1)?.id ?? ''
      run.answer = await chat({ ...base, prompt, question, round: ++run.rounds, signal, tell })
      return run.answer
    }
    try {
      const isWritten = await compact(turn, ask)
      if (isWritten !== undefined) await this.#end(run, turn, { status: isWritten ? 'completed' : 'superseded' })
    } catch (thrown) {
      const error = asGatewayError(signal.aborted ? signal.reason : thrown)
      await this.#end(run, turn, { status: 'failed', error })
    } finally {
      clearTimeout(timer)
    }
  }

  async #end({ head, record, answer }: CompactionRun, turn: Turn, ending: Pick<Ending, 'status' | 'error'>) {
    const { turnId: id, tenant, keyId, sessionId, createdAt } = head
    const { status, error } = ending
    this.#options.metrics.compaction(status)
    const fields = {
      event: 'memory.compaction',
      ...{ turn_id: id, after: turn.id, session_id: sessionId, key_id: keyId, model: head.model, status },
      duration_ms: Math.round(record.durationMs)
    }
    if (error) turn.log.warn({ ...fields, error: error.code }, error.message)
    else turn.log.info(fields)
    const view = runView(head, record, { ...ending, ...(answer && { answer }) })
    try {
      await this.#options.turns.save({ id, tenant, keyId, sessionId, createdAt, view })
    } catch (cause) {
      turn.log.error({ event: 'store.error', turn_id: id, err: cause }, 'run view not written')
    }
  }
}

class CompactionRun {
  readonly record = new RunRecord()
  readonly head: RunHead
  rounds = 0
  answer: Answer | undefined

  constructor(head: Omit<RunHead, 'createdAt'>) {
    this.head = { ...head, createdAt: Date.now() }
  }
}

function tookTooLong(): GatewayError {
  return new GatewayError('upstream_timeout', 'The summary took longer than 10 minutes.', { phase: 'total' })
}
