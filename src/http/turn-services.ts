import type { Config } from '../config/schema.ts'
import type { ToolFinder } from '../core/finder.ts'
import type { Models } from '../core/models.ts'
import type { OutputFormat } from '../core/output-format.ts'
import type { Model } from '../core/turn.ts'
import type { Stores } from '../stores/contracts.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Compactions } from './compactions.ts'
import type { LiveTurns } from './live-turns.ts'
import type { StreamLogs } from './stream-logs.ts'
import type { RunOpen } from './turn-continue.ts'
import type { AttachableTools } from './turn-tools.ts'
import type { TurnsUnderWay } from './turns-under-way.ts'

/** What turns are made of and written to; the same for every dialect. */
export interface TurnServices {
  /** The whole chain. */
  readonly chat: Model
  readonly models: Pick<Models, 'resolve'>
  readonly catalog: AttachableTools
  readonly stores: Pick<Stores, 'sessions' | 'turns' | 'calls' | 'leases' | 'journal'>
  /** Told when a turn is over, so that views for which there is no room can go. */
  readonly finder: Pick<ToolFinder, 'release'>
  readonly metrics: Pick<Metrics, 'turnEvent' | 'turnEnd' | 'streamBuffered'>
  /** Each turn enters itself while it runs. */
  readonly underWay: TurnsUnderWay
  /** Turns that a retry may meet. */
  readonly live: LiveTurns
  /** A call was sent, and its outcome will never be known. */
  readonly onUnknown: (call: { readonly turn: string; readonly tool: string }) => void
  /** Runs the calls that a turn has left open when it goes on. */
  readonly runOpen: RunOpen
  /** Frames of streams that can be read again. */
  readonly streams?: StreamLogs | undefined
  /** Summaries of sessions, where they are configured. */
  readonly compactions?: Pick<Compactions, 'after'> | undefined
  readonly config: TurnConfig
  /**
   * Makes the format of an answer ready to be checked. Throws `invalid_request` for a schema that cannot be used. Absent:
   * answers are not checked here.
   */
  readonly judgeOutput?: ((format: OutputFormat) => unknown) | undefined
  /** May requests script the model `sim-script`? */
  readonly allowScript: boolean
}

/** The sections of the configuration that the edge reads. */
export type TurnConfig = Pick<
  Config,
  | 'chain'
  | 'default_model'
  | 'loop'
  | 'limits'
  | 'session'
  | 'memory'
  | 'structured_output'
  | 'tool_search'
  | 'stream'
  | 'tools_attach'
>
