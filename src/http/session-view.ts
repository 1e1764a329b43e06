import type { SessionInfo } from '../stores/contracts.ts'

/** A session as the routes show it (contract §2.2). */
export function sessionView({ id, createdAt, lastUsedAt, turns, revealed, branches }: SessionInfo) {
  return {
    id,
    created_at: new Date(createdAt).toISOString(),
    last_used_at: new Date(lastUsedAt).toISOString(),
    turns,
    revealed: [...revealed],
    branches: [...branches]
  }
}
