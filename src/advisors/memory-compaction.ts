/** Compaction: older turns of a session are recalled as a summary in their place (contract §4.9). */
import type { Answer, Message } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { textOf } from '../core/text.ts'
import type { Turn } from '../core/turn.ts'
import type { SessionStore, StoredSummary } from '../stores/contracts.ts'
import { bytesOf } from './memory-bytes.ts'
import { notesRequest } from './memory-notes.ts'
import { type PastTurn, pastTurns } from './memory-past.ts'

export interface CompactionOptions {
  readonly store: Pick<SessionStore, 'turns' | 'summary' | 'summarise'>
  /** Due when so many past turns, or tokens of them (bytes ÷ 4), are recalled whole. */
  readonly trigger: { readonly turns?: number; readonly tokens?: number }
  /** The newest turns, which stay as they are. */
  readonly keepTurns: number
}

/**
 * Called when a turn is over: summarises the session's older turns if that is due. `ask` puts messages to the model.
 * Resolves to whether a summary was written (`false`: another was first, or the session has gone), `undefined` when
 * none was due. Rejects, with memory as it was, when the model fails or gives no whole text.
 */
export type Compact = (
  turn: Pick<Turn, 'session' | 'policy'>,
  ask: (messages: readonly Message[]) => Promise<Answer>
) => Promise<boolean | undefined>

/** More is not read at once; what is older than that is left out of the notes. */
const MAX_TURNS = 1000
/** So much is put to the model at once. A longer past is taken in parts, with the notes so far. */
const PART_BYTES = 64_000

export function compaction({ store, trigger, keepTurns }: CompactionOptions): Compact {
  return async ({ session, policy }, ask) => {
    const { ended } = await pastTurns(store, session.key, { recall: policy.memory.recall, limit: MAX_TURNS })
    const older = ended.slice(0, Math.max(0, ended.length - keepTurns))
    const upTo = older.at(-1)?.id
    if (upTo === undefined || !isDue(ended, trigger)) return undefined
    // A turn that waits goes on with the past that it began with.
    if ((await store.turns(session.key, ['awaiting_client', 'awaiting_approval'], 1, 'ends')).length > 0)
      return undefined

    const before = await store.summary(session.key)
    const text = await notesOn(before, older, ask)
    return store.summarise(session, { text, upTo }, before?.upTo)
  }
}

function isDue(turns: readonly PastTurn[], trigger: CompactionOptions['trigger']): boolean {
  if (trigger.turns !== undefined && turns.length >= trigger.turns) return true
  const { tokens } = trigger
  return tokens !== undefined && turns.reduce((bytes, { messages }) => bytes + bytesOf(messages), 0) / 4 >= tokens
}

async function notesOn(
  before: StoredSummary | undefined,
  turns: readonly PastTurn[],
  ask: Parameters<Compact>[1]
): Promise<string> {
  let notes = before?.text
  for (const part of partsOf(turns)) notes = textIn(await ask(notesRequest(notes, part)))
  return notes ?? ''
}

/** Whole turns, together not more than is put to a model at once; one that is larger stands alone. */
function partsOf(turns: readonly PastTurn[]): readonly (readonly Message[])[] {
  const parts: Message[][] = []
  let bytes = Infinity
  for (const { messages } of turns) {
    bytes += bytesOf(messages)
    if (bytes > PART_BYTES) {
      parts.push([])
      bytes = bytesOf(messages)
    }
    parts.at(-1)?.push(...messages)
  }
  return parts
}

/** Half a summary would be worse than none: what it lacks could not be recalled any more. */
function textIn({ message, finish }: Answer): string {
  const text = textOf(message.content).trim()
  if (finish === 'stop' && text !== '' && message.calls.length === 0) return text
  throw new GatewayError('upstream_invalid_response', `The model gave no whole summary (finish ${finish}).`)
}
