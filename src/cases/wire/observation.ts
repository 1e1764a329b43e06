/** What was seen while a wire case was played: plain JSON data. Times are ms since the client began to send. */
import type { Fields } from '../fields.ts'

export interface WireObservation {
  readonly client: ClientSaw
  readonly upstream: readonly UpstreamSaw[]
  readonly webhooks: readonly WebhookSaw[]
  /** The run view, as far as there is one. */
  readonly run?: Fields
  /** When the turn of a client that left was over; absent when it was not within the time it had. */
  readonly settledMs?: number
  /** Largest number of bytes the gateway held for one slow client, since its start. */
  readonly bufferedBytesPeak?: number
  /** Does the process live and answer? */
  readonly alive: boolean
}

export interface ClientSaw {
  /** Absent when no head came. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** The body, decoded; a BOM at its start is kept. */
  readonly text: string
  readonly isUtf8: boolean
  /** When the head came. */
  readonly headMs?: number
  /** When the body ended, or the client left. */
  readonly endMs: number
  readonly hasLeft: boolean
  /** Why the body did not come to its end. */
  readonly broken?: string
  /** Each piece as it was read. */
  readonly pieces: readonly { readonly atMs: number; readonly bytes: number }[]
}

export interface UpstreamSaw {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly atMs: number
  /** When the gateway closed the connection before the answer was at its end. */
  readonly abortedMs?: number
}

export interface WebhookSaw {
  readonly tool: string
  readonly arguments: unknown
  readonly round: number
  /** Position in its batch, from 0. */
  readonly index: number
  readonly atMs: number
  readonly abortedMs?: number
}
