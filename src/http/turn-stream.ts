import type { FastifyReply } from 'fastify'
import type { Answer, Delta, Fields } from '../core/chat.ts'
import { asGatewayError, type GatewayError } from '../core/errors.ts'
import type { FrameSink } from './frame-sink.ts'
import { keptStream } from './kept-stream.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import { SseWriter } from './sse-writer.ts'
import type { StreamLog } from './stream-log.ts'
import type { StreamLogs } from './stream-logs.ts'
import { given } from './turn-given.ts'
import { eventView, forbidRetry, setNotes } from './turn-report.ts'
import { runTurn } from './turn-run.ts'
import type { TurnServices } from './turn-services.ts'

/** How a dialect writes an answer as a stream. Each method returns the frames to send now; `''` means none. */
export interface StreamEncoder {
  start(): string
  delta(delta: Delta): string
  event(event: Fields): string
  /** Everything that is left, the end mark included. May throw when what was sent cannot be brought to an end. */
  end(answer: Answer, report: Fields | undefined): string
  error(error: GatewayError): string
}

/**
 * Runs a turn and streams its answer. The head is held until something visible is there or `stream.commit_ms` (or
 * `keepalive_ms`, if that is shorter) has passed, so that a failure before it keeps its status: then this rejects, and
 * nothing was sent (W11). A failure after it becomes an error frame (W10). When the client has gone there is nobody to
 * tell.
 */
export async function streamTurn(
  services: TurnServices,
  prepared: PreparedTurn,
  { reply, encoder }: { readonly reply: FastifyReply; readonly encoder: StreamEncoder }
): Promise<void> {
  const stream = new TurnStream(services, prepared, reply, encoder)
  try {
    const answer = await runTurn(services, prepared, delta => stream.delta(delta))
    stream.end(answer)
  } catch (thrown) {
    const error = asGatewayError(thrown)
    const isTold = stream.fail(error)
    if (reply.raw.destroyed) stream.abandon()
    else if (!isTold) {
      forbidRetry(reply, prepared)
      throw error
    } else if (error.code === 'internal')
      prepared.turn.log.error({ event: 'turn.failed', turn_id: prepared.turn.id, err: error.cause }, error.message)
  }
}

class TurnStream {
  readonly #prepared: PreparedTurn
  readonly #reply: FastifyReply
  readonly #encoder: StreamEncoder
  readonly #writer: () => SseWriter
  /** Where the turn can be read again. */
  readonly #kept: { readonly logs: StreamLogs; readonly log: StreamLog } | undefined
  readonly #deadline: NodeJS.Timeout
  #committed: FrameSink | undefined
  /** Frames that are nothing to see: they wait for the head. */
  #held = ''

  constructor(services: TurnServices, prepared: PreparedTurn, reply: FastifyReply, encoder: StreamEncoder) {
    const { commit_ms: commitMs, keepalive_ms: keepaliveMs } = services.config.stream
    this.#prepared = prepared
    this.#reply = reply
    this.#encoder = encoder
    const logs = prepared.isResumable ? services.streams : undefined
    this.#kept = logs && { logs, log: logs.open(prepared.head) }
    const isQuiet = reply.request.headers['x-loopgate-keepalive'] === 'off'
    this.#writer = () =>
      new SseWriter(reply.raw, {
        signal: prepared.clock.signal,
        ...(!isQuiet && { keepaliveMs }),
        onBuffered: bytes => services.metrics.streamBuffered(bytes)
      })
    // Silence of `keepalive_ms` is broken by a comment also where it is shorter, and that sends the head.
    const isSilenceFirst = !isQuiet && keepaliveMs <= commitMs
    this.#deadline = isSilenceFirst
      ? setTimeout(() => this.#commit().comment(), keepaliveMs).unref()
      : setTimeout(() => this.#commit(), commitMs).unref()
    if (prepared.options.include.has('events'))
      prepared.onEvent = event => this.#tell(eventView(event, prepared.record))
  }

  delta(delta: Delta): undefined | Promise<void> {
    const frames = this.#encoder.delta(delta)
    if (frames === '') return undefined
    if (delta.type === 'fields' && this.#committed === undefined) {
      this.#held += frames
      return undefined
    }
    this.#prepared.record.firstOutput()
    return this.#commit().write(frames)
  }

  end(answer: Answer): void {
    const frames = this.#encoder.end(answer, given(this.#prepared, answer).report)
    this.#commit().end(frames)
  }

  /** `false`: the head has not gone out, and the error may have its status. */
  fail(error: GatewayError): boolean {
    clearTimeout(this.#deadline)
    const isTold = this.#committed !== undefined
    // Whoever reads the turn again has no status to be told by.
    if (isTold || this.#kept) this.#sink(isTold).end(this.#encoder.error(error))
    return isTold
  }

  abandon(): void {
    clearTimeout(this.#deadline)
    this.#reply.hijack()
  }

  #commit(): FrameSink {
    if (this.#committed) return this.#committed
    clearTimeout(this.#deadline)
    const isThere = !this.#reply.raw.destroyed
    setNotes(this.#reply, this.#prepared.record)
    this.#reply.header('cache-control', 'no-cache').hijack()
    if (isThere) this.#reply.sse.sendHeaders(200)
    this.#committed = this.#sink(isThere)
    this.#committed.write(this.#encoder.start() + this.#held)
    return this.#committed
  }

  /** `isThere`: the client is to be sent what comes. */
  #sink(isThere: boolean): FrameSink {
    if (this.#committed) return this.#committed
    const kept = this.#kept
    if (kept === undefined) return this.#writer()
    return keptStream(kept.logs, kept.log, isThere ? this.#writer() : undefined)
  }

  #tell(event: Fields | undefined): void {
    if (event === undefined) return
    const frames = this.#encoder.event(event)
    if (this.#committed) this.#committed.write(frames)
    else this.#held += frames
    const { type, ...figures } = event
    if (type === 'round.end') this.#prepared.turn.log.info({ event: type, turn_id: this.#prepared.turn.id, ...figures })
  }
}
