import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { structuredOutput } from '../../src/advisors/structured-output.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { ConfigInput } from '../../src/config/schema.ts'
import { advised, type Model } from '../../src/core/turn.ts'
import { outputJudge } from '../../src/tools/output-judge.ts'
import { anEdge, framesOf, post } from '../helper/edge.ts'
import { GOOD, ofSchema, STOCK } from '../helper/structured.ts'
import { type Scripted, scripted } from '../helper/turn.ts'

const wanted = { response_format: ofSchema(STOCK) }

/** An edge whose answers are held to their format. */
async function edgeOf(t: Test, script: readonly Scripted[] | Model, config: ConfigInput = {}) {
  const model = typeof script === 'function' ? script : scripted(script)
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'native' })
  const chat = advised(model, advisor, toolLoop({ guards: [] }))
  const edge = await anEdge(chat, { config, judgeOutput: outputJudge })
  t.teardown(() => edge.close())
  return { edge }
}

t.test('an answer that was right at the second attempt says so only when asked', async t => {
  const { edge } = await edgeOf(t, [{ text: 'x' }, { text: GOOD }, { text: GOOD }])
  const response = await post(edge, { ...wanted, loopgate: { include: ['summary'] } })
  t.equal(response.headers.get('x-loopgate-structured'), null)
  t.equal(response.headers.get('x-loopgate-rounds'), '2')
  t.match(await response.json(), {
    choices: [{ message: { content: GOOD }, finish_reason: 'stop' }],
    loopgate: { structured_output: { valid: true, attempts: 2, errors: [] } }
  })
  t.notOk('loopgate' in ((await (await post(edge, wanted)).json()) as object))
  t.match(edge.views()[0].structured_output, { valid: true, attempts: 2 })
})

t.test('an answer that stays invalid is given with a header and the reasons, unasked', async t => {
  const { edge } = await edgeOf(t, [{ text: 'x' }, { text: '{}' }, { text: 'x' }, { text: '{}' }])
  const loopgate = { structured_output: { max_retries: 1 } }
  const whole = await post(edge, { ...wanted, loopgate })
  t.equal(whole.status, 200)
  t.equal(whole.headers.get('x-loopgate-structured'), 'invalid')
  const errors = ["must have required property 'sku'", "must have required property 'units'"]
  const structured_output = { valid: false, attempts: 2, errors }
  t.match(await whole.json(), { choices: [{ message: { content: '{}' } }], loopgate: { structured_output } })

  const stream = await post(edge, { ...wanted, loopgate, stream: true })
  t.equal(stream.headers.get('x-loopgate-structured'), 'invalid', 'on the head of a stream too')
  const frames = framesOf(await stream.text())
  const text = frames.map(frame => frame.choices?.[0]?.delta?.content ?? '').join('')
  t.equal(text, '{}')
  t.match(frames.at(-2), { choices: [], loopgate: { structured_output } })
})

t.test('with on_exhausted: fail it is 502 output_invalid, which is not worth sending again', async t => {
  const script = [{ text: 'x' }, { text: 'y' }, { text: 'x' }, { text: 'y' }]
  const { edge } = await edgeOf(t, script, { structured_output: { max_retries: 1, on_exhausted: 'fail' } })
  for (const stream of [false, true]) {
    const response = await post(edge, { ...wanted, stream })
    t.equal(response.status, 502, 'a stream of which nothing was sent keeps the status')
    t.equal(response.headers.get('x-should-retry'), 'false')
    t.match(await response.json(), { error: { code: 'output_invalid', message: /it is not valid JSON/ } })
  }
  t.match(edge.views()[0], { status: 'failed', http_status: 502 })
})

t.test('a stream is kept alive while answers are checked, and the answer comes once', async t => {
  const model = scripted([{ text: 'x' }, { text: GOOD }])
  const { edge } = await edgeOf(
    t,
    async turn => {
      await setTimeout(60)
      return model(turn)
    },
    { stream: { keepalive_ms: 20 } }
  )
  const text = await (await post(edge, { ...wanted, stream: true })).text()
  t.ok(text.indexOf(': ka') !== -1 && text.indexOf(': ka') < text.indexOf('BX-1'), 'comments come first')
  t.equal(text.split('BX-1').length, 2)
})

t.test('a schema that cannot be used is answered 400 by its field; no model is asked, nothing is written', async t => {
  const model = scripted([])
  const { edge } = await edgeOf(t, model)
  const cases: [unknown, string, RegExp][] = [
    [ofSchema({ type: 'objekt' }), 'response_format.json_schema.schema', /not a JSON Schema/],
    [ofSchema({ pattern: '(?=a)' }), 'response_format.json_schema.schema', /pattern/],
    [ofSchema({ allOf: [{ $ref: '#' }] }), 'response_format.json_schema.schema', /leads back to itself/],
    [{ type: 'json_schema' }, 'response_format.json_schema', /must be an object/]
  ]
  for (const [response_format, param, message] of cases) {
    const response = await post(edge, { response_format })
    t.equal(response.status, 400)
    t.match(await response.json(), { error: { code: 'invalid_request', param, message } })
  }
  t.equal(model.seen.length, 0)
  t.equal(edge.saved.length, 0)
})

t.test('several choices are refused where answers are checked, and pass where they are not', async t => {
  const { edge } = await edgeOf(t, [{ text: 'ok' }])
  const refused = await post(edge, { ...wanted, n: 2 })
  t.match(await refused.json(), { error: { code: 'invalid_request', param: 'n', message: /response_format/ } })
  const unchecked = await anEdge(scripted([{ text: 'ok' }]))
  t.teardown(() => unchecked.close())
  t.equal((await post(unchecked, { ...wanted, n: 2 })).status, 200)
})
