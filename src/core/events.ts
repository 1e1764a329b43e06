import type { Fields, Finish, LimitHit, Usage } from './chat.ts'
import type { Cost } from './cost.ts'
import type { OnLimit } from './policy.ts'

/** A call, as its events tell of it. */
export interface CallTold {
  readonly round: number
  /** Position in its batch, from 0. */
  readonly index: number
  readonly callId: string
  readonly tool: string
  readonly kind?: 'webhook' | 'mcp' | 'builtin'
  readonly version?: number
  /** What the model gave for the tool's augmentation fields; `null` for one it left out. */
  readonly augmented?: Fields
}

/**
 * What happens inside a turn, in order, told by `turn.tell`. The run view, metrics, logs and `include: ["events"]`
 * are all made of these. None carries a prompt, an argument or a result, but for the values of augmentation fields.
 */
export type TurnEvent =
  | { readonly type: 'round.start'; readonly round: number; readonly offered: readonly string[] }
  /** An upstream request begins; exactly one `attempt` follows, whatever it comes to. */
  | { readonly type: 'attempt.start'; readonly round: number; readonly provider: string; readonly model: string }
  /** One upstream request of the round, told when it ended. `status` is absent when no head came. */
  | {
      readonly type: 'attempt'
      readonly round: number
      readonly provider: string
      readonly model: string
      readonly status?: number
      readonly durationMs: number
      /** From sending to the first byte of the head. */
      readonly firstByteMs?: number
      /** `ok` or the code of the error it failed with; `cancelled` when the client left. */
      readonly outcome: string
    }
  /** What a model call used; `estimated` when the provider did not say. Told also for calls that failed or were cut. */
  | {
      readonly type: 'usage'
      readonly round: number
      readonly provider: string
      readonly model: string
      readonly usage: Usage
      readonly estimated: boolean
      /** Absent where no prices are configured; nothing where the model has none. */
      readonly cost?: Cost | undefined
    }
  /** There are prices, but none for the model that answered: the call counts as free. */
  | { readonly type: 'price.missing'; readonly round: number; readonly provider: string; readonly model: string }
  | { readonly type: 'round.end'; readonly round: number; readonly finish: Finish | 'calls'; readonly calls: number }
  | {
      readonly type: 'tool.start'
      readonly round: number
      readonly callId: string
      readonly tool: string
      readonly augmented?: Fields
    }
  /** A call that waits for the client. */
  | ({ readonly type: 'tool.open' } & CallTold)
  /** Told for every call of a batch, also those that did not run; in the order they settle. */
  | ({
      readonly type: 'tool.end'
      readonly status: 'ok' | 'error' | 'refused' | 'not_run' | 'unknown'
      readonly code?: string
      readonly webhookId?: string
      readonly attempts: number
      readonly durationMs: number
    } & CallTold)
  | {
      readonly type: 'search'
      readonly round: number
      readonly index: string
      readonly form: string
      readonly found: readonly string[]
      readonly durationMs: number
    }
  | { readonly type: 'revealed'; readonly names: readonly string[] }
  /** Tokens of tool definitions that search kept out of one model call. */
  | { readonly type: 'definitions.saved'; readonly tokens: number }
  /** `provider` and `model` of the attempt that failed, where known. */
  | {
      readonly type: 'retry'
      readonly round: number
      readonly code: string
      readonly delayMs: number
      readonly provider?: string
      readonly model?: string
    }
  | { readonly type: 'limit'; readonly hit: LimitHit; readonly action: OnLimit }
  /** The answer still breaks the format that the request wants after all attempts, and is given as it is. */
  | { readonly type: 'output.invalid'; readonly attempts: number }
  /** A remote advisor was asked, or was tried to be; the turn waited for it. */
  | {
      readonly type: 'advisor'
      readonly round: number
      readonly name: string
      readonly phase: 'request' | 'response'
      readonly durationMs: number
    }
  /** For `x-loopgate-notes`: `dropped:seed`, `shadowed:<tool>`, `price_missing:<model>`, `empty_answer`. */
  | { readonly type: 'note'; readonly note: string }
