import t, { type Test } from 'tap'
import { audit } from '../../src/advisors/audit.ts'
import { meter } from '../../src/advisors/meter.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Fields, ToolCall } from '../../src/core/chat.ts'
import { advised } from '../../src/core/turn.ts'
import { validArguments } from '../../src/tools/guards/arguments.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { anEdge, framesOf, post } from '../helper/edge.ts'
import { type Scripted, scripted } from '../helper/turn.ts'
import { anEgress, anEndpoint, answering, aWebhook } from '../helper/webhook.ts'

const egress = anEgress()
t.teardown(() => egress.close())

const schema = { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] }
const thought = { name: 'innerThought', description: 'Why you call this tool' }
const call = (id: string, fields: Fields | string): ToolCall => ({
  ...{ id, name: 'stock_level' },
  arguments: typeof fields === 'string' ? fields : JSON.stringify(fields)
})

/** A gateway with one tool that is asked more of, its endpoint, and a model that answers by a script. */
async function aGateway(t: Test, script: readonly Scripted[], registration: object = {}) {
  const endpoint = await anEndpoint(answering(200, '{"units":17}'))
  const body = { input_schema: schema, augment: [thought], endpoint: { payload: 'args' }, ...registration }
  const { tool } = aWebhook(endpoint.url, body, { egress })
  const log: string[] = []
  const model = scripted(script)
  const chat = advised(model, audit(), toolLoop({ guards: [limits, validArguments] }), meter())
  const edge = await anEdge(chat, { tools: new Map([[tool.name, tool]]), logTo: line => void log.push(line) })
  t.teardown(async () => {
    await edge.close()
    await endpoint.close()
  })
  return { ...edge, model, log, got: () => endpoint.requests.map(({ body }) => JSON.parse(body)) }
}

const why = 'I need the number'
const script = [{ calls: [call('c1', { sku: 'BX-1', innerThought: why })] }, { text: 'There are 17.' }]

for (const stream of [false, true]) {
  const mode = stream ? 'stream' : 'call'

  t.test(`${mode}: the model is asked for the field, the run view has its value, the tool does not`, async t => {
    const gateway = await aGateway(t, script)
    t.match(await (await post(gateway, { stream })).text(), /There are 17/)
    const shown = gateway.model.seen[0]?.prompt.tools.get('stock_level')?.parameters
    t.match(shown, { properties: { innerThought: { type: 'string' } }, required: ['sku', 'innerThought'] })
    t.strictSame(gateway.got(), [{ sku: 'BX-1' }])
    t.match(gateway.views()[0].rounds[0].calls, [
      { tool: 'stock_level', status: 'ok', augmented: { innerThought: why } }
    ])
  })

  t.test(`${mode}: a field to be forwarded reaches the tool and the run view`, async t => {
    const gateway = await aGateway(t, script, { augment: [{ ...thought, forward: true }] })
    await (await post(gateway, { stream })).text()
    t.strictSame(gateway.got(), [{ sku: 'BX-1', innerThought: why }])
    t.match(gateway.views()[0].rounds[0].calls, [{ augmented: { innerThought: why } }])
  })

  t.test(`${mode}: the call stays in the conversation as the model wrote it`, async t => {
    const written = '{"innerThought": "I need the number",  "sku":"BX-1"}'
    const gateway = await aGateway(t, [{ calls: [call('c1', written)] }, { text: 'ok' }])
    await (await post(gateway, { stream })).text()
    const said = gateway.model.seen[1]?.prompt.messages.find(({ role }) => role === 'assistant')
    t.equal(said?.role === 'assistant' && said.calls[0]?.arguments, written)
  })

  t.test(`${mode}: a field that the model left out is null in the run view, and the tool runs`, async t => {
    const calls = [call('c1', { sku: 'BX-1' }), call('c2', '{"sku":')]
    const gateway = await aGateway(t, [{ calls }, { text: 'ok' }])
    await (await post(gateway, { stream })).text()
    t.strictSame(gateway.got(), [{ sku: 'BX-1' }])
    const seen = gateway.views()[0].rounds[0].calls.map(({ status, augmented }: Fields) => ({ status, augmented }))
    t.strictSame(seen, [
      { status: 'ok', augmented: { innerThought: null } },
      { status: 'refused', augmented: { innerThought: null } }
    ])
  })

  t.test(`${mode}: a tool whose result is the answer stays so when it is asked more of`, async t => {
    const gateway = await aGateway(t, script, { return_direct: true })
    t.match(await (await post(gateway, { stream })).text(), /units\\*":17/)
    t.equal(gateway.model.seen.length, 1, 'the model is not asked again')
    t.match(gateway.views()[0], { finish: 'return_direct' })
    t.strictSame(gateway.got(), [{ sku: 'BX-1' }])
  })
}

t.test('a call that waits for the client has its values in the run view, and the client gets it whole', async t => {
  const gateway = await aGateway(t, script)
  const answer = await (await post(gateway, { loopgate: { tool_execution: 'manual' } })).json()
  const text = JSON.stringify({ sku: 'BX-1', innerThought: why })
  t.match(answer, { choices: [{ message: { tool_calls: [{ function: { arguments: text } }] } }] })
  t.match(gateway.views()[0].rounds[0].calls, [{ status: 'open', augmented: { innerThought: why } }])
  t.strictSame(gateway.got(), [])
})

t.test('a listener to the events hears the values when the tool starts', async t => {
  const gateway = await aGateway(t, script)
  const frames = framesOf(await (await post(gateway, { stream: true, loopgate: { include: ['events'] } })).text())
  const events: Fields[] = frames.flatMap(frame => frame.loopgate?.event ?? [])
  t.match(
    events.find(({ type }) => type === 'tool.start'),
    { tool: 'stock_level', call_id: 'c1', augmented: { innerThought: why } }
  )
  t.equal(events.filter(event => JSON.stringify(event).includes(why)).length, 1, 'once')
})

t.test('the log names the fields that were filled in, and has no value', async t => {
  const calls = [call('c1', { sku: 'BX-1', innerThought: why }), call('c2', { sku: 'BX-2', innerThought: why })]
  const augment = [thought, { name: 'mood' }]
  const gateway = await aGateway(t, [{ calls }, { text: 'ok' }], { augment })
  await post(gateway)
  const lines = gateway.log.join('')
  t.match(lines, /"augmented":\["stock_level\.innerThought"\]/)
  t.notMatch(lines, why)
})

t.test('a tool that is asked nothing more has no values in the run view and the events', async t => {
  const gateway = await aGateway(t, script, { augment: [] })
  const answer = await (await post(gateway, { stream: true, loopgate: { include: ['events'] } })).text()
  t.notMatch(answer, 'augmented')
  t.equal(gateway.views()[0].rounds[0].calls[0].augmented, null)
  t.strictSame(gateway.got(), [{ sku: 'BX-1', innerThought: why }], 'an argument like any other')
})

t.test('calls that differ in nothing but their fields are identical calls', async t => {
  const rounds = ['a', 'b', 'c', 'd'].map(id => ({ calls: [call(id, { sku: 'BX-1', innerThought: `thought ${id}` })] }))
  const gateway = await aGateway(t, [...rounds, { text: 'not reached' }])
  const answer = (await (await post(gateway)).json()) as Fields
  t.match(answer.loopgate, { finish: 'identical_calls', limit: { kind: 'max_identical_calls', max: 3 } })
  t.equal(gateway.got().length, 3)
  const values = gateway.views()[0].rounds.flatMap(({ calls }: { calls: Fields[] }) => calls)
  t.match(values.at(-1), { status: 'refused', augmented: { innerThought: 'thought d' } }, 'refused calls have theirs')
})
