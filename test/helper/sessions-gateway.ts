import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Test } from 'tap'
import { principals } from '../../src/access/principals.ts'
import { recallView } from '../../src/advisors/memory-recall.ts'
import { type ConfigInput, configSchema } from '../../src/config/schema.ts'
import type { Principal } from '../../src/core/principal.ts'
import { auth } from '../../src/http/auth.ts'
import { describeApi } from '../../src/http/describe-api.ts'
import { groundRules } from '../../src/http/ground-rules.ts'
import { sessionKey } from '../../src/http/session-key.ts'
import { sessions } from '../../src/http/sessions.ts'
import { turns } from '../../src/http/turns.ts'
import { TurnsUnderWay } from '../../src/http/turns-under-way.ts'
import type { StoredTurn } from '../../src/stores/contracts.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { toolFinder } from '../../src/tools/index/finder.ts'

export type Answer = Record<string, never> & { data: Record<string, never>[]; next_cursor: string | null }

const key = (id: string, tenant: string, roles: string[] = ['chat']) => ({
  ...{ id, key: `secret-of-${id}`, tenant, roles, models: ['*'] },
  tools: { allow: ['*'], deny: [] }
})

/** The routes over a real store, for two keys of one tenant, one of another, an auditor and an admin. */
export async function aSessionsGateway(t: Test, changes: ConfigInput = {}) {
  const config = configSchema.parse({ version: 1, ...changes })
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  const evicted: string[] = []
  const finder = toolFinder({ kind: 'lexical', views: { max: 10 }, maxIndexes: 4, onEvict: why => evicted.push(why) })
  const app = fastify() as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  groundRules(app)
  const openapi = await describeApi(app, { version: '1' })
  const keys = [
    key('ann', 'a'),
    key('bob', 'a'),
    key('cat', 'c'),
    key('eve', 'a', ['auditor']),
    key('adm', 'x', ['admin'])
  ]
  await app.register(auth, { principals: principals({ mode: 'keys', development: false, keys }), development: false })
  await app.register(sessions, {
    ...{ sessions: stores.sessions, calls: stores.calls, turns: stores.turns, finder, config },
    recall: (key, policy) => recallView(stores.sessions, key, policy)
  })
  await app.register(turns, { turns: stores.turns, underWay: new TurnsUnderWay() })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    finder.close()
    await stores.close()
  })
  const fetchAs = (who: string, path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer secret-of-${who}`, ...init.headers } })
  const get = async (who: string, path: string) => {
    const response = await fetchAs(who, path)
    return { status: response.status, body: (await response.json()) as Answer }
  }
  const store = (id: string, turn: StoredTurn, who = 'ann') => {
    const session = { id, key: sessionKey(ofA(who), id), named: true, branch: 'main' }
    return stores.sessions.append(session, { tenant: 'a', keyId: who }, turn)
  }
  const fork = async (who: string, id: string, body?: object) => {
    const init = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetchAs(who, `/v1/sessions/${id}/fork`, { method: 'POST', ...init })
    return {
      status: response.status,
      body: (await response.json()) as Answer & { id: string },
      headers: response.headers
    }
  }
  return { stores, finder, evicted, openapi, fetchAs, get, store, fork }
}

/** A key of tenant `a`. */
export const ofA = (who: string): Pick<Principal, 'tenant' | 'key'> => ({ tenant: 'a', key: who })
/** The session `s1` of ann. */
export const annsSession = { id: 's1', key: sessionKey(ofA('ann'), 's1'), named: true, branch: 'main' }
