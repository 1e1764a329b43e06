import { DatabaseSync } from 'node:sqlite'
import type { Asked } from './client.ts'
import type { World } from './world.ts'

interface CallRow {
  readonly id: string
  readonly turn: string
  readonly state: string
  readonly effect: string
}

interface Said {
  readonly turn: string
  readonly status: string
  readonly role: string
  readonly text: string
  readonly calls: readonly string[]
  readonly callId: string
}

/** Holds what the store says against what the world saw (spec/state.md §4.2). Returns what is broken. */
export function broken(path: string, { deliveries, broken: conversations }: World, asked: readonly Asked[]): string[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const calls = db.prepare('SELECT id, turn, state, effect FROM journal_calls').all() as unknown as CallRow[]
    return [
      ...conversations,
      ...deliveredTwice(deliveries),
      ...notOnRecord(deliveries, calls),
      ...leftOpen(db, calls),
      ...answersApart(asked),
      ...transcripts(db, new Set(asked.filter(({ plan }) => plan.key !== undefined).map(({ plan }) => plan.question)))
    ]
  } finally {
    db.close()
  }
}

/** 1: by what a call is for, whatever id it carries. The others are sent again under the same id. */
function deliveredTwice(deliveries: World['deliveries']): string[] {
  const ids = new Map<string, Set<string>>()
  const found: string[] = []
  for (const { place, effect, webhookId } of deliveries) {
    const known = ids.get(place)
    if (known && effect === 'write') found.push(`${place} was written twice`)
    else if (known && !known.has(webhookId)) found.push(`${place} was called under two ids`)
    ids.set(place, (known ?? new Set()).add(webhookId))
  }
  return found
}

/** 2: what was delivered is on record, and what is said to have succeeded was delivered. */
function notOnRecord(deliveries: World['deliveries'], calls: readonly CallRow[]): string[] {
  const delivered = new Set(deliveries.map(({ webhookId }) => webhookId))
  const known = new Set(calls.map(({ id }) => id))
  return [
    ...[...delivered].filter(id => !known.has(id)).map(id => `${id} was delivered and is not on record`),
    ...calls.filter(({ id, state }) => state === 'succeeded' && !delivered.has(id)).map(({ id }) => `${id} never left`)
  ]
}

/** 2: a turn that is over has no call whose end is open. */
function leftOpen(db: DatabaseSync, calls: readonly CallRow[]): string[] {
  const turns = db.prepare(`SELECT id, state FROM journal_turns`).all() as { id: string; state: string }[]
  const over = new Set(turns.filter(({ state }) => state === 'done').map(({ id }) => id))
  return [
    ...calls.filter(({ turn, state }) => over.has(turn) && state === 'dispatched').map(({ id }) => `${id} has no end`),
    ...turns.filter(({ state }) => state === 'running').map(({ id }) => `${id} runs, and no process is there`)
  ]
}

/** 7: each question has its own answer, and the same one however often it is sent. */
function answersApart(asked: readonly Asked[]): string[] {
  return asked.flatMap(({ plan, answers, refused }) => [
    ...answers.filter(each => each !== `answer ${plan.question}`).map(each => `${plan.question} was answered: ${each}`),
    ...(refused?.startsWith('no answer') ? [`${plan.question}: ${refused}`] : [])
  ])
}

/** 3: each call has one result before anything else is said, and a question stands answered at most once. */
function transcripts(db: DatabaseSync, keyed: ReadonlySet<string>): string[] {
  const found: string[] = []
  const answered = new Map<string, string>()
  const rows = db
    .prepare(
      `SELECT t.id AS turn, t.status, m.body FROM messages m JOIN session_turns t
        ON t.session = m.session AND t.position = m.turn ORDER BY m.session, m.seq`
    )
    .all() as unknown as { turn: string; status: string; body: string }[]
  let open = new Set<string>()
  for (const { turn, status, body } of rows) {
    const { role, calls, callId, text } = said(turn, status, body)
    if (role === 'tool' && !open.delete(callId)) found.push(`${turn}: a result of ${callId}, which is not open`)
    if (role !== 'tool' && open.size > 0) found.push(`${turn}: no result for ${[...open]}`)
    if (role !== 'tool') open = new Set(calls)
    if (role !== 'user' || status !== 'completed') continue
    const { q, rounds } = JSON.parse(text)
    // Of a question without a key and without a tool nobody knows that it came before.
    if (!keyed.has(q) && rounds.length === 0) continue
    const before = answered.get(text)
    if (before !== undefined && before !== turn) found.push(`${text} stands answered in ${before} and ${turn}`)
    answered.set(text, turn)
  }
  return found
}

function said(turn: string, status: string, body: string): Said {
  const { role, content, calls = [], callId = '' } = JSON.parse(body)
  return {
    ...{ turn, status, role, callId },
    text: typeof content === 'string' ? content : JSON.stringify(content),
    calls: calls.map(({ id }: { id: string }) => id)
  }
}
