import t, { type Test } from 'tap'
import { clientTool, done, mixed, read, shown, stock, turnId } from './helper/held-calls.ts'
import { type LoopAnswer, loopGateway } from './helper/loop-gateway.ts'
import { aRemoteAdvisor, type Decide } from './helper/remote.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(180_000)

/** A gateway with a remote advisor around memory, which says what `decide.now` says. */
async function outside(t: Test) {
  const decide: { now: Decide } = { now: () => undefined }
  const { url, secret } = await aRemoteAdvisor(t, (asked, nth) => decide.now(asked, nth))
  const check = { ...{ name: 'check', places: ['turn'], url, secret }, egress_policy: 'internal' }
  const chain = { turn: ['audit', 'check', 'memory'] }
  const gateway = await loopGateway({ stock_level: stock }, { advisors: [check], chain })
  t.teardown(gateway.stop)
  const statusOf = async (session: string, { headers }: Pick<LoopAnswer, 'headers'>) => [
    (await read(gateway.url, `/v1/sessions/${session}`)).status,
    (await read(gateway.url, `/v1/turns/${headers.get('x-loopgate-turn-id')}`)).status
  ]
  return { ...gateway, decide, statusOf }
}

const onResponse =
  (said: object): Decide =>
  ({ type }) =>
    type === 'advisor.response' ? said : undefined
const tools = [clientTool]
const all = { loopgate: { memory: { recall: 'all' } } }

for (const stream of [false, true]) {
  const mode = stream ? 'stream' : 'call'

  t.test(`${mode}: a turn that an advisor outside memory has blocked cannot be gone on with`, async t => {
    const { ask, decide, statusOf, url } = await outside(t)
    decide.now = onResponse({ error: { code: 'pii', message: 'No.' } })
    const first = await ask([mixed], stream, { body: { session_id: 's', tools } })
    t.equal(first.error.code, 'guardrail_blocked')
    t.strictSame(await statusOf('s', first), ['idle', 'failed'])
    const { data } = await read(url, '/v1/sessions/s/messages')
    t.equal(data[0].turn_status, 'failed')

    decide.now = () => undefined
    const result = { role: 'tool', tool_call_id: 'up_2', content: 'opened' }
    for (const messages of [[], [result]]) {
      const next = await ask([done], stream, { body: { session_id: 's', tools, messages } })
      t.match(next, { status: 400, error: { code: 'invalid_request' } })
      t.equal(next.requests.length, 0)
    }
    const next = await ask([done], stream, { body: { session_id: 's', ...all } })
    t.strictSame(shown(next), ['user: What is it?'], 'and it is never recalled')
    t.strictSame(await statusOf('s', first), ['idle', 'failed'])
  })

  t.test(`${mode}: where the client was given an answer instead of its calls, nobody waits`, async t => {
    const { ask, decide, statusOf, url } = await outside(t)
    decide.now = onResponse({ message: { role: 'assistant', content: 'Without.' } })
    const first = await ask([mixed], stream, { body: { session_id: 's', tools } })
    t.strictSame([first.content, first.finish], ['Without.', ['stop']])
    t.strictSame(await statusOf('s', first), ['idle', 'completed'])
    const [{ calls }] = (await read(url, `/v1/turns/${turnId(first)}`)).rounds
    t.match(calls, [{ status: 'ok' }, { status: 'not_run' }, { status: 'ok' }])

    decide.now = () => undefined
    const next = await ask([done], stream, { body: { session_id: 's', ...all } })
    t.strictSame(shown(next), [
      ...['user: What is it?', 'calls up_1 up_2 up_3'],
      ...['up_1 = {"units":17}', 'up_2 = (not answered)', 'up_3 = {"units":4}'],
      ...['assistant: Without.', 'user: What is it?']
    ])
    t.strictSame(await statusOf('s', first), ['idle', 'completed'], 'it is not superseded')
  })

  t.test(`${mode}: what goes on with a turn may be answered outside, or blocked before it began`, async t => {
    const { ask, decide, statusOf } = await outside(t)
    const first = await ask([mixed], stream, { body: { session_id: 's', tools } })
    t.strictSame(await statusOf('s', first), ['awaiting_client', 'awaiting_client'])
    const messages = [{ role: 'tool', tool_call_id: 'up_2', content: 'opened' }]
    const body = { session_id: 's', tools, messages }
    decide.now = () => ({ error: { code: 'pii', message: 'No.' } })
    t.equal((await ask([done], stream, { body })).error.code, 'guardrail_blocked')
    t.equal((await statusOf('s', first))[0], 'awaiting_client', 'the results can be sent again')

    decide.now = () => ({ answer: { content: 'Short.' } })
    t.equal((await ask([done], stream, { body })).content, 'Short.')
    t.strictSame(await statusOf('s', first), ['idle', 'completed'])
  })
}
