import { join } from 'node:path'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { signature, signingKey } from '../../src/egress/signing.ts'
import { demoDefinitions, demoSecrets, demoTools } from '../../src/http/demo-tools.ts'
import { openVault } from '../../src/stores/vault.ts'
import { catalog } from '../../src/tools/catalog.ts'
import { aPrincipal } from '../helper/edge.ts'
import { aToolStore } from '../helper/tool-store.ts'
import { silent } from '../helper/turn.ts'
import { anEgress, turnWith } from '../helper/webhook.ts'

interface Demo {
  readonly url: string
  readonly secrets: ReadonlyMap<string, string>
  call(name: string, args: object): Promise<{ content: unknown; status: string; code?: string }>
}

/** The demonstration tools behind a real socket, called as the loop calls any tool. */
async function theDemo(t: Test): Promise<Demo> {
  const secrets = demoSecrets()
  const app = fastify()
  await app.register(demoTools, { secrets })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const egress = anEgress({ listening: () => app.addresses().filter(each => typeof each === 'object') })
  const vault = await openVault(join(t.testdir(), 'kek'))
  const known = await catalog({ store: aToolStore(), vault, egress, reserved: [], log: silent })
  known.declare(demoDefinitions(url, secrets))
  t.teardown(async () => {
    await app.close()
    await egress.close()
  })
  return {
    url,
    secrets,
    async call(name, args) {
      const tool = known.toolsFor(aPrincipal).get(name)
      const call = { id: 'call_1', name, arguments: JSON.stringify(args) }
      if (tool?.run === undefined) throw new Error(`there is no ${name}`)
      return tool.run(call, turnWith(call))
    }
  }
}

t.test('each demonstration tool is called over HTTP like any other', async t => {
  const demo = await theDemo(t)
  const rows: readonly [string, object, RegExp][] = [
    ['get_weather', { city: 'Oslo' }, /^\{"city":"Oslo","temperature_c":-?\d+,"sky":"\w+","source":"demo"\}$/],
    ['convert_currency', { amount: 100, from: 'EUR', to: 'USD' }, /"converted":110,/],
    ['get_current_time', { time_zone: 'Europe/Berlin' }, /"time":"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"/],
    ['get_current_time', {}, /"time_zone":"UTC"/],
    ['add_days_to_date', { date: '2028-02-28', days: 2 }, /"result":"2028-03-01"/],
    ['search_docs', { query: 'How do I return an article?' }, /"title":"Returns"/],
    ['create_ticket', { title: 'Printer on fire', priority: 'high' }, /"ticket":"T-\d+"/],
    ['book_flight', { from: 'Oslo', to: 'Rome', date: '2027-01-02' }, /"booking":"F-\d+"/]
  ]
  for (const [name, args, expected] of rows) {
    const result = await demo.call(name, args)
    t.equal(result.status, 'ok', name)
    t.match(result.content, expected)
  }
})

t.test('what a demonstration tool refuses is told to the model', async t => {
  const demo = await theDemo(t)
  t.match(await demo.call('add_days_to_date', { date: '2027-02-30', days: 1 }), {
    ...{ status: 'error', code: 'tool_args_rejected' },
    content: '2027-02-30 is not a date; use YYYY-MM-DD and a day that exists.'
  })
  t.match(await demo.call('get_current_time', { time_zone: 'Mars/Base' }), { code: 'tool_args_rejected' })
  t.match(await demo.call('add_days_to_date', { date: '2027-02-01', days: 1e15 }), { code: 'tool_args_rejected' })
})

t.test('nobody but the gateway can call them', async t => {
  const { url, secrets } = await theDemo(t)
  const body = '{"data":{"call":{"arguments":{"city":"Oslo"}}}}'
  const post = async (name: string, secretOf: string, timestamp: number, sent = body) => {
    const key = signingKey(secrets.get(secretOf) ?? '')
    const answer = await fetch(`${url}/demo/tools/${name}`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'webhook-id': 'tc_1', 'webhook-timestamp': String(timestamp) },
        'webhook-signature': `v1,AAAA ${signature({ id: 'tc_1', timestamp, body }, [key])}`
      },
      body: sent
    })
    await answer.text()
    return answer.status
  }
  const now = Math.floor(Date.now() / 1000)
  t.equal(await post('get_weather', 'get_weather', now), 200)
  t.equal(await post('get_weather', 'create_ticket', now), 401, "another tool's secret")
  t.equal(await post('get_weather', 'get_weather', now, `${body} `), 401, 'another body')
  t.equal(await post('get_weather', 'get_weather', now - 3600), 401, 'an old one')
  const bare = await fetch(`${url}/demo/tools/get_weather`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body
  })
  t.equal(bare.status, 401)
})
