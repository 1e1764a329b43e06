import type { Finish } from './chat.ts'

/** How far a turn has come (contract §2.6). */
export type TurnStatus =
  | 'running'
  | 'awaiting_client'
  | 'awaiting_approval'
  | 'completed'
  | 'limited'
  | 'failed'
  | 'cancelled'
  | 'superseded'

/** Status of a turn that came to an answer. */
export function statusOf(finish: Finish): TurnStatus {
  switch (finish) {
    case 'client_calls':
      return 'awaiting_client'
    case 'awaiting_approval':
      return 'awaiting_approval'
    case 'stop':
    case 'return_direct':
    case 'length':
    case 'content_filter':
      return 'completed'
    default:
      return 'limited'
  }
}
