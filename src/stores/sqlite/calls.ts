import type { StatementSync } from 'node:sqlite'
import type { Message, ToolMessage } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HeldCall } from '../../core/held-calls.ts'
import type { CallStore, HeldBatch, HeldResult, WaitingTurn } from '../contracts.ts'
import type { Engine } from './engine.ts'
import { Held } from './held.ts'
import { Transcript } from './transcript.ts'

const TURN = `SELECT t.session, t.position, t.id, t.answer_id, t.created_ms, s.key, s.id AS name, s.branch,
    h.is_forgotten, h.request
  FROM session_turns t JOIN sessions s ON s.n = t.session
  LEFT JOIN held_turns h ON h.session = t.session AND h.turn = t.id
  WHERE t.status = 'awaiting_client'`

/** Whatever ran when the process ended: what may be done twice may be asked for again, of the rest nobody knows. */
const RECOVER = `UPDATE tool_calls SET
    state = CASE effect WHEN 'write' THEN 'unknown' ELSE 'requested' END,
    ended_ms = CASE effect WHEN 'write' THEN ? ELSE NULL END
  WHERE state = 'dispatched'`

export class SqliteCalls implements CallStore {
  readonly #engine: Engine
  readonly #transcript: Transcript
  readonly #held: Held
  readonly #ofSession: StatementSync
  readonly #ofCall: StatementSync
  readonly #ofTurn: StatementSync
  readonly #calls: StatementSync
  readonly #messages: StatementSync
  readonly #number: StatementSync
  readonly #claim: StatementSync
  readonly #settle: StatementSync
  readonly #giveBack: StatementSync
  readonly #count: StatementSync

  constructor(engine: Engine) {
    this.#engine = engine
    this.#transcript = new Transcript(engine)
    this.#held = new Held(engine)
    this.#ofSession = engine.prepare(
      `${TURN} AND t.session = (SELECT n FROM sessions WHERE key = ?) ORDER BY t.position`
    )
    this.#ofCall = engine.prepare(`${TURN} AND (t.session, t.id) IN
      (SELECT session, turn FROM tool_calls WHERE provider_call = ?)`)
    this.#ofTurn = engine.prepare(`${TURN} AND t.id = ?`)
    this.#calls = engine.prepare('SELECT * FROM tool_calls WHERE session = ? AND turn = ? ORDER BY round, idx')
    this.#messages = engine.prepare(
      'SELECT body FROM messages WHERE session = ? AND seq > ?2 AND turn = ?2 ORDER BY seq'
    )
    this.#number = engine.prepare('SELECT n FROM sessions WHERE key = ?')
    this.#claim = engine.prepare(`UPDATE tool_calls SET state = 'dispatched', attempt = attempt + 1, dispatched_ms = ?
      WHERE session = ? AND id = ? AND state = 'requested'`)
    this.#settle = engine.prepare(`UPDATE tool_calls SET state = ?, result = ?, ended_ms = ?
      WHERE session = ? AND id = ? AND state = 'dispatched'`)
    this.#giveBack = engine.prepare(`UPDATE tool_calls SET state = 'requested'
      WHERE session = ? AND id = ? AND state = 'dispatched'`)
    this.#count = engine.prepare('UPDATE sessions SET turns = turns - ? WHERE n = ?')
  }

  /** To be called once, before anything runs: calls that the last process left behind in the middle are settled. */
  async recover(): Promise<void> {
    const recover = this.#engine.prepare(RECOVER)
    await this.#engine.write(() => recover.run(Date.now()))
  }

  async waiting(sessionKey: string): Promise<readonly WaitingTurn[]> {
    return this.#engine.read(() => this.#ofSession.all(sessionKey).map(row => this.#turn(row)))
  }

  async ofCall(callId: string): Promise<WaitingTurn | undefined> {
    return this.#first(this.#ofCall, callId)
  }

  async ofTurn(turnId: string): Promise<WaitingTurn | undefined> {
    return this.#first(this.#ofTurn, turnId)
  }

  claim({ session }: WaitingTurn, ids: readonly string[]): Promise<void> {
    return this.#engine.write(() => {
      const n = this.#numberOf(session.key)
      for (const id of ids) if (this.#claim.run(Date.now(), n, id).changes !== 1) throw notOpen()
    })
  }

  async settle({ session }: WaitingTurn, id: string, result: HeldResult | undefined): Promise<void> {
    const text = result && JSON.stringify(result.message)
    await this.#engine.write(() => {
      const n = this.#numberOf(session.key)
      if (result && text !== undefined) this.#settle.run(result.state, text, Date.now(), n, id)
      else this.#giveBack.run(n, id)
    })
  }

  forget({ id, answerId, session }: WaitingTurn): Promise<void> {
    return this.#engine.write(() => {
      const n = this.#numberOf(session.key)
      // A session that was deleted meanwhile has nothing left to forget.
      if (n === 0) return
      if (!this.#transcript.isWaiting(n, id, answerId)) throw answeredBefore()
      this.#held.drop(n, id)
      this.#count.run(this.#transcript.take(n, id), n)
    })
  }

  /** 0 is no session's: the session is gone, and so is all of it. */
  #numberOf(key: string): number {
    return (this.#number.get(key)?.n as number | undefined) ?? 0
  }

  #first(statement: StatementSync, id: string): WaitingTurn | undefined {
    return this.#engine.read(() => {
      const row = statement.get(id)
      return row && this.#turn(row)
    })
  }

  #turn(row: Record<string, unknown>): WaitingTurn {
    const { session, position, id, answer_id: answerId, created_ms: createdAt, key, name, branch } = row as never
    const messages = this.#messages.all(session, position).map(({ body }) => JSON.parse(body as string) as Message)
    const batch = row.request === null ? undefined : this.#batch(session, id, row)
    return {
      ...{ id, status: 'awaiting_client', messages, createdAt },
      ...(answerId !== null && { answerId }),
      ...(batch && { held: batch }),
      session: { key, id: name, branch }
    }
  }

  #batch(session: number, turn: string, { request, is_forgotten }: Record<string, unknown>): HeldBatch {
    return {
      calls: this.#calls.all(session, turn).map(asCall),
      request: JSON.parse(request as string),
      isForgotten: is_forgotten === 1
    }
  }
}

function asCall(row: Record<string, unknown>): HeldCall {
  const { id, round, idx, provider_call, tool, tool_version, runner, effect, args, state, result } = row
  const call = {
    ...{ id, round, index: idx, callId: provider_call, tool, toolVersion: tool_version, runner, effect },
    ...{ arguments: args, state }
  } as HeldCall
  return typeof result === 'string' ? { ...call, result: JSON.parse(result) as ToolMessage } : call
}

function notOpen(): GatewayError {
  return new GatewayError('call_not_open', 'Another request has taken one of these calls already.')
}

function answeredBefore(): GatewayError {
  return new GatewayError('session_busy', 'Another request of the session has gone on from these calls already.')
}
