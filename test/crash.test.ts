import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { broken } from '../src/crash/check.ts'
import type { Asked } from '../src/crash/client.ts'
import { crash } from '../src/crash/crash.ts'
import type { World } from '../src/crash/world.ts'
import { openSqlite } from '../src/stores/sqlite/open.ts'
import { aSession, aStoredTurn, owner } from './stores/contract.ts'

t.setTimeout(290_000)

t.test(
  '40 times kill -9 under load: nothing runs twice that must not, nothing is lost, each question has its answer',
  async t => {
    const seed = Date.now() % 1_000_000
    t.comment(`seed ${seed}`)
    const { broken: found, ...figures } = await crash({ kills: 40, seed })
    t.strictSame(found, [], `npm run test:crash -- --kills 40 --seed ${seed}`)
    t.ok(figures.deliveries > 100, JSON.stringify(figures))
    t.ok(figures.answered > 50)
  }
)

const asked = (changes: Partial<Asked> = {}): Asked => ({
  plan: { question: 'q1', rounds: [['write']], key: 'k', stream: false, isSentAgain: false },
  ...{ answers: ['answer q1'], retries: 0 },
  ...changes
})
const delivery = (place: string, webhookId: string, effect: 'read' | 'write' = 'write') => ({
  place,
  effect,
  webhookId
})
const nothing: Pick<World, 'deliveries' | 'broken'> = { deliveries: [], broken: [] }

t.test('the check sees what it is for', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'loopgate-check-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.db')
  const stores = await openSqlite({ path, synchronous: 'normal' })
  const ref = { turn: 'turn_1', fence: 1 }
  const run = { id: 'turn_1', tenant: 'a', keyId: 'k', sessionId: 's', createdAt: 1, view: '{}' }
  const head = { session: { key: 'k', id: 's', branch: 'main' }, startedAt: 1, retries: [] }
  await stores.journal.dispatch({
    ...{ ref, run, head, messages: [] },
    call: {
      ...{ id: 'tc_1r1i0', round: 1, index: 0, callId: 'c1', tool: 'write', toolVersion: 1 },
      ...{ effect: 'write', arguments: '{}' }
    }
  })
  const question = (content: string) => ({ role: 'user' as const, id: content, content })
  const text = JSON.stringify({ q: 'q1', rounds: [['write']] })
  const dangling = {
    role: 'assistant' as const,
    id: 'a',
    content: '',
    calls: [{ id: 'c', name: 'write', arguments: '{}' }]
  }
  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1', { messages: [question(text)] }))
  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_2', { messages: [question(text), dangling] }))
  await stores.sessions.append(
    aSession('k'),
    owner,
    aStoredTurn('turn_3', { messages: [question('{"q":"q9","rounds":[]}')] })
  )
  await stores.close()
  const look = (deliveries: World['deliveries'], ask: Asked = asked(), more: readonly string[] = []) =>
    broken(path, { ...nothing, deliveries, broken: more } as World, [ask])
  const seen = look([delivery('q1/0/0', 'tc_1r1i0')])
  t.match(seen, [/turn_1 runs, and no process is there/, /stands answered in turn_1 and turn_2/, /no result for c/])
  const first = seen.length
  const finds = (what: RegExp, found: string[]) => t.match(found.filter(each => !seen.includes(each)).join('\n'), what)
  finds(/q1\/0\/0 was written twice/, look([delivery('q1/0/0', 'tc_1r1i0'), delivery('q1/0/0', 'tc_1r1i0')]))
  const twoIds = [delivery('q1/0/0', 'tc_1r1i0', 'read'), delivery('q1/0/0', 'tc_2r1i0', 'read')]
  finds(/q1\/0\/0 was called under two ids/, look(twoIds))
  finds(/tc_2r1i0 was delivered and is not on record/, look(twoIds))
  finds(/q1 was answered: answer q2/, look([], asked({ answers: ['answer q2'] })))
  finds(/q1: no answer: x/, look([], asked({ answers: [], refused: 'no answer: x' })))
  finds(/a dangling call/, look([], asked(), ['a dangling call']))
  t.equal(look([delivery('q1/0/0', 'tc_1r1i0', 'read'), delivery('q1/0/0', 'tc_1r1i0', 'read')]).length, first)
})
