import t from 'tap'
import type { Message } from '../../src/core/chat.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { waitingTurns } from '../../src/http/turn-waiting.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { aPrincipal } from '../helper/edge.ts'
import { aStoredTurn } from '../stores/contract.ts'
import { aHeldBatch } from '../stores/contract-calls.ts'

const owner = { tenant: aPrincipal.tenant, keyId: aPrincipal.key }
const ID = `call_${'0'.repeat(26)}`
const results: readonly Message[] = [{ role: 'tool', id: 'r', callId: ID, content: '17' }]

t.test('a turn of a branch is found by its call ids, with its session, for its own key only', async t => {
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  t.teardown(() => stores.close())
  const root = sessionKey(aPrincipal, 's1')
  const left = { id: 's1', key: sessionKey(aPrincipal, 's1', 'key', 'left'), root, branch: 'left', named: true }
  const batch = aHeldBatch('turn_1')
  const held = { ...batch, calls: batch.calls.slice(2).map(call => ({ ...call, callId: ID })) }
  await stores.sessions.openBranch(left, owner)
  await stores.sessions.append(left, owner, aStoredTurn('turn_1', { status: 'awaiting_client', held }))

  const unnamed = { id: 'sess_1', key: 'fresh', named: false, branch: 'main', since: performance.now() }
  const find = (principal = aPrincipal) =>
    waitingTurns(stores.calls, { session: unnamed, principal, messages: results, scope: 'key' })
  t.match(await find(), { session: { ...left, named: false, since: unnamed.since }, turns: [{ id: 'turn_1' }] })
  t.strictSame(await find({ ...aPrincipal, key: 'other' }), { session: unnamed, turns: [] })

  const { session } = await find()
  t.equal(await stores.sessions.delete(root), true)
  t.equal(await stores.calls.ofCall(ID), undefined, 'it goes with the session')
  await stores.sessions.append(session, owner, aStoredTurn('turn_1'))
  t.equal(await stores.sessions.get(session.key), undefined, 'and a request that had found it does not bring it back')
})
