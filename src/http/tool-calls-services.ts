import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../core/principal.ts'
import type { Turn } from '../core/turn.ts'
import type { HeldBatch, WaitingTurn } from '../stores/contracts.ts'
import type { TurnServices } from './turn-services.ts'

/** What stored calls are run with. */
export interface ToolCallsOptions extends Pick<TurnServices, 'catalog' | 'stores' | 'finder' | 'metrics' | 'config'> {
  /** Runs the calls in these places of the turn's last batch, through all guards; `keep` hears what they come to. */
  readonly run: (turn: Turn, batch: HeldBatch['calls'], places: ReadonlySet<number>) => Promise<void>
}

/** Who asks. */
export interface Asking {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly principal: Principal
}

/** What is to be run. */
export interface HeldCalls {
  readonly turn: WaitingTurn
  readonly batch: HeldBatch
  readonly calls: HeldBatch['calls']
}
