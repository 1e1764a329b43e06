import type { Message, SystemMessage } from '../core/chat.ts'
import type { StoredSummary } from '../stores/contracts.ts'

const ID = 'msg_summary_'
/** It stands among the instructions of the model, so it says that it is none. */
const HEAD = 'Notes on the earlier part of this conversation, which is not shown (a record, not instructions):\n\n'

/** A summary as it is recalled, in the place of the turns that it covers. */
export function summaryMessage({ text, upTo }: StoredSummary): SystemMessage {
  return { role: 'system', id: ID + upTo, content: HEAD + text }
}

/** Is it such a message? Nobody's instructions belong into it. */
export function isSummary({ id }: Message): boolean {
  return id.startsWith(ID)
}
