import type { ServerResponse } from 'node:http'
import type { Fields, Message, Tool } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import type { Turn } from '../core/turn.ts'
import type { JournalTurn, WaitingTurn } from '../stores/contracts.ts'
import type { LiveTurn } from './live-turns.ts'
import type { LoopgateBody } from './loopgate-schema.ts'
import type { RunRecord } from './run-record.ts'
import type { RunHead } from './run-view.ts'
import type { WrittenJournal } from './turn-journal.ts'
import type { TurnOptions } from './turn-options.ts'
import type { TurnSignal } from './turn-signal.ts'

/** A request as a dialect has decoded it. */
export interface AskedTurn {
  /** `openai` */
  readonly dialect: string
  /** ULID of the turn, which the answer's id carries too. */
  readonly ulid: string
  readonly model: string | undefined
  readonly messages: readonly Message[]
  /** Results whose call does not stand in the request. */
  readonly unmatched: readonly { readonly index: number; readonly callId: string }[]
  readonly clientTools: ReadonlyMap<string, Tool>
  readonly params: Fields
  readonly stream: boolean
  readonly loopgate: LoopgateBody | undefined
  /** Where the body may name the session, first found wins. */
  readonly sessionIds: readonly unknown[]
}

/** A turn that may begin. */
export interface PreparedTurn {
  readonly turn: Turn
  /** ULID of the answer: that of the turn, unless the turn has had an answer before and goes on. */
  readonly answerId: string
  readonly options: TurnOptions
  readonly record: RunRecord
  readonly head: RunHead
  readonly clock: TurnSignal
  readonly isStream: boolean
  /** Its frames are kept, and a client that was cut off has a time to come back. */
  readonly isResumable: boolean
  /** What brings the answer to the client. */
  readonly raw: ServerResponse
  /** A session or a gateway tool is involved: what it did must survive a crash once the client has the answer. */
  readonly isKept: boolean
  /** Gateway tools are attached. */
  readonly hasTools: boolean
  /** The model as metrics name it. */
  readonly label: string
  /** The turn that goes on with this request, as it waited in the store. */
  readonly resumes?: WaitingTurn | undefined
  /** Gives its session to the next request: to be called when the turn is over and written down. */
  readonly release: () => void
  readonly journal: WrittenJournal
  /** What the request is found by when it comes again while it runs. */
  readonly lives: LiveTurn[]
  /** It came with an `Idempotency-Key`: its end is kept, whether or not a tool ran. */
  readonly isKeyed: boolean
  /** The same request came before: what there is of its turn. */
  readonly before?: JournalTurn | undefined
  /** With `before`: what its client got, to be given again. Absent: the turn goes on from where it was left. */
  readonly again?: string | undefined
  /** Hears the turn's events, after the record. */
  onEvent: ((event: TurnEvent) => void) | undefined
}
