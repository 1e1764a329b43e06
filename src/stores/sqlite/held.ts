import type { StatementSync } from 'node:sqlite'
import type { HeldCall } from '../../core/held-calls.ts'
import type { HeldBatch, StoredTurn } from '../contracts.ts'
import type { Engine } from './engine.ts'

const INSERT_CALL = `INSERT INTO tool_calls (session, id, turn, round, idx, provider_call, tool, tool_version, runner, effect,
  args, state, result, requested_ms, ended_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Rows of the batches that clients have to go on with. Its methods run inside a unit; `session` is its number. */
export class Held {
  readonly #insertTurn: StatementSync
  readonly #insertCall: StatementSync
  readonly #dropTurn: StatementSync
  readonly #dropCalls: StatementSync
  readonly #removeTurns: StatementSync
  readonly #removeCalls: StatementSync

  constructor(engine: Engine) {
    this.#insertTurn = engine.prepare(
      'INSERT INTO held_turns (session, turn, is_forgotten, request) VALUES (?, ?, ?, ?)'
    )
    this.#insertCall = engine.prepare(INSERT_CALL)
    this.#dropTurn = engine.prepare('DELETE FROM held_turns WHERE session = ? AND turn = ?')
    this.#dropCalls = engine.prepare('DELETE FROM tool_calls WHERE session = ? AND turn = ?')
    this.#removeTurns = engine.prepare('DELETE FROM held_turns WHERE session = ?')
    this.#removeCalls = engine.prepare('DELETE FROM tool_calls WHERE session = ?')
  }

  /** The batch of the turn in place of the one that it had, or that the turn had which it replaces. */
  replace(session: number, { id, replaces, held }: StoredTurn): void {
    if (replaces !== undefined) this.drop(session, replaces)
    if (held) this.drop(session, id)
    if (held) this.#write(session, id, held)
  }

  drop(session: number, turnId: string): void {
    this.#dropTurn.run(session, turnId)
    this.#dropCalls.run(session, turnId)
  }

  remove(session: number): void {
    this.#removeTurns.run(session)
    this.#removeCalls.run(session)
  }

  #write(session: number, turnId: string, { calls, request, isForgotten }: HeldBatch): void {
    this.#insertTurn.run(session, turnId, isForgotten ? 1 : 0, JSON.stringify(request))
    const now = Date.now()
    for (const call of calls) this.#writeCall(session, turnId, call, now)
  }

  #writeCall(session: number, turnId: string, call: HeldCall, now: number): void {
    const { id, round, index, callId, tool, toolVersion, runner, effect, arguments: text, state, result } = call
    const ended = result && JSON.stringify(result)
    this.#insertCall.run(
      ...([session, id, turnId, round, index, callId, tool, toolVersion, runner, effect, text, state] as const),
      ...([ended ?? null, now, ended === undefined ? null : now] as const)
    )
  }
}
