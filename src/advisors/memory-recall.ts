import type { Message, SystemMessage } from '../core/chat.ts'
import type { MemoryPolicy } from '../core/policy.ts'
import type { SessionStore } from '../stores/contracts.ts'
import { ends } from './memory-ends.ts'
import { pastTurns } from './memory-past.ts'
import { summaryMessage } from './memory-summary.ts'
import { withUniqueCalls } from './memory-whole.ts'
import { withinWindow } from './memory-window.ts'

export interface Recalled {
  /** In the place of turns that were summarised. */
  readonly summary: readonly SystemMessage[]
  /** What is recalled of each past turn, oldest first. */
  readonly past: readonly (readonly Message[])[]
}

type Recall = Pick<MemoryPolicy, 'recall' | 'window'>

/** Turns read at first where no number of turns is the bound. */
const AT_FIRST = 64

/** What a turn of the session recalls by the policy; `turnId` is that turn's own, which is not its past. */
export async function recalled(
  store: Pick<SessionStore, 'turns' | 'summary'>,
  sessionKey: string,
  { recall, window }: Recall,
  turnId?: string
): Promise<Recalled> {
  const { maxTurns } = window
  const stored = await store.summary(sessionKey)
  const summary = stored ? [summaryMessage(stored)] : []
  // One more than fits is read for the turn itself.
  for (let limit = (maxTurns ?? AT_FIRST) + 1; ; limit *= 4) {
    const { ended, isAll } = await pastTurns(store, sessionKey, {
      ...{ recall, limit },
      ...(turnId !== undefined && { except: turnId })
    })
    const turns = ended.map(({ messages }) => messages)
    const past = withinWindow(turns, window, turn => ends(turn, turn.at(-1)?.id))
    if (isAll || past.length < ended.length || past.length === maxTurns) return { summary, past }
  }
}

/** The messages that the session's next turn would recall, as `GET /v1/sessions/{id}?view=recall` shows them. */
export async function recallView(
  store: Pick<SessionStore, 'turns' | 'summary'>,
  sessionKey: string,
  policy: Recall
): Promise<readonly Message[]> {
  const { summary, past } = await recalled(store, sessionKey, policy)
  return [...summary, ...withUniqueCalls(past.flat(), [])]
}
