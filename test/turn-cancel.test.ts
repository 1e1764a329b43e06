import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { loopGateway } from './helper/loop-gateway.ts'

t.setTimeout(120_000)

const KEYS = ['a', 'b', 'boss']
const bearer = (key: string) => ({ authorization: `Bearer sk-${key}-0123456789abcdef` })

/** A gateway with one slow tool; `called` gets the id of the turn of each call. */
async function started(called: string[] = []) {
  const answer = (_: unknown, { data }: { data: { call: { id: string } } }) => {
    called.push(`turn_${/^tc_(.{26})/.exec(data.call.id)?.[1]}`)
    return { body: '"done"', waitMs: 3000 }
  }
  return loopGateway(
    { slow: { answer } },
    { keys: KEYS.map(id => ({ id, key: `sk-${id}-0123456789abcdef`, roles: id === 'boss' ? ['admin'] : ['chat'] })) }
  )
}

type Gateway = Awaited<ReturnType<typeof started>>

const cancel = (gateway: Gateway, id: string, key = 'a') =>
  fetch(`${gateway.url}/v1/turns/${id}/cancel`, { method: 'POST', headers: bearer(key) })
const view = async (gateway: Gateway, id: string) =>
  (await fetch(`${gateway.url}/v1/turns/${id}`, { headers: bearer('a') })).json()

async function untilCalled(called: readonly string[]): Promise<string> {
  while (called.length === 0) await sleep(10)
  return called[0] ?? ''
}

for (const stream of [false, true]) {
  for (const key of ['a', 'boss']) {
    t.test(
      `${stream ? 'a stream' : 'a call'} that ${key} cancels ends with turn_cancelled, not to be sent again`,
      async t => {
        const called: string[] = []
        const gateway = await started(called)
        t.teardown(() => gateway.stop())
        const rounds = [{ text: 'Wait. ', calls: [['slow'] as const] }, { text: 'never' }]
        const asked = gateway.ask(rounds, stream, { headers: bearer('a') })
        const id = await untilCalled(called)
        t.equal((await cancel(gateway, id, 'b')).status, 404, 'another key has no such turn')
        const began = Date.now()
        const answer = await cancel(gateway, id, key)
        t.equal(answer.status, 202)
        t.same(await answer.json(), { id })
        const { status, headers, error, content, finish, requests } = await asked
        t.ok(Date.now() - began < 2500, 'the tool was not waited for')
        t.match(error, { code: 'turn_cancelled' })
        t.equal(requests.length, 1, 'the model was not asked again')
        if (stream) t.match({ status, content, finish }, { status: 200, content: 'Wait. ', finish: [] })
        else t.match({ status, retry: headers.get('x-should-retry') }, { status: 409, retry: 'false' })
        t.match(await view(gateway, id), { status: 'cancelled', http_status: 409 })
        const again = await cancel(gateway, id)
        t.equal(again.status, 409)
        t.match(await again.json(), { error: { code: 'turn_ended' } })
        t.equal((await cancel(gateway, 'turn_0')).status, 404, 'one that never was')
      }
    )
  }
}

t.test('a turn that waits for its client is waited for no more', async t => {
  const gateway = await started()
  t.teardown(() => gateway.stop())
  const headers = { ...bearer('a'), 'x-session-id': 's2' }
  const manual = { loopgate: { tool_execution: 'manual' } }
  const asked = await gateway.ask([{ calls: [['slow', {}, 'call_1']] }], false, { headers, body: manual })
  const id = asked.headers.get('x-loopgate-turn-id') ?? ''
  t.match(await view(gateway, id), { status: 'awaiting_client' })
  t.equal((await cancel(gateway, id, 'b')).status, 404, 'not by another key')
  t.equal((await cancel(gateway, id)).status, 202)
  t.match(await view(gateway, id), { status: 'cancelled' })
  t.equal((await cancel(gateway, id)).status, 409)
  const messages = [{ role: 'tool', tool_call_id: 'call_1', content: 'late' }]
  const late = await gateway.ask([{ text: 'never' }], false, { headers, body: { messages } })
  t.equal(late.status, 400, 'its calls are open no more')
  const next = await gateway.ask([{ text: 'fine' }], false, { headers })
  t.equal(next.content, 'fine')
})
