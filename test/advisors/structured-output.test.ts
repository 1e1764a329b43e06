import t from 'tap'
import type { Fields } from '../../src/core/chat.ts'
import { ask, complaint, GOOD, STOCK, usage } from '../helper/structured.ts'

t.test('an answer that follows the schema is given after one model call', async t => {
  const { text, requests, answer } = await ask([{ text: GOOD, usage }])
  t.equal(text, GOOD)
  t.strictSame(requests, [['user: Stock?']])
  t.strictSame(answer.structured, { valid: true, attempts: 1, errors: [] })
  t.strictSame(answer.usage, usage)
})

t.test(
  'an answer without a required field is shown to the model with the reason, and the next one is given',
  async t => {
    const { text, requests, answer } = await ask([
      { text: '{"sku":"BX-1"}', usage },
      { text: GOOD, usage }
    ])
    t.equal(text, GOOD)
    t.strictSame(requests[1], [
      'user: Stock?',
      'assistant: {"sku":"BX-1"}',
      complaint("must have required property 'units'")
    ])
    t.strictSame(answer.structured, { valid: true, attempts: 2, errors: [] })
    t.strictSame(answer.usage, { prompt: 20, completion: 10, total: 30 }, 'usage is that of both')
    t.strictSame(answer.messages, [answer.message], 'nothing of the refused answer stays')
  }
)

t.test('a field of the wrong type is refused by its path', async t => {
  const { requests } = await ask([{ text: '{"sku":"BX-1","units":"many"}' }, { text: GOOD }])
  t.equal(requests[1]?.at(-1), complaint('/units must be integer'))
})

t.test('all that is wrong is told at once', async t => {
  const { requests } = await ask([{ text: '{"sku":1,"units":"many"}' }, { text: GOOD }])
  t.equal(requests[1]?.at(-1), complaint('/sku must be string; /units must be integer'))
})

t.test('of several different refused answers only the last is shown', async t => {
  const { text, requests, answer, told } = await ask([
    { text: 'Sure! 17.' },
    { text: '{"sku":"BX-1","units":"many"}' },
    { text: '[]' },
    { text: GOOD }
  ])
  t.equal(text, GOOD)
  t.equal(answer.structured?.attempts, 4)
  t.strictSame(
    requests.map(request => request.slice(1)),
    [
      [],
      ['assistant: Sure! 17.', complaint('it is not valid JSON')],
      ['assistant: {"sku":"BX-1","units":"many"}', complaint('/units must be integer')],
      ['assistant: []', complaint('must be object')]
    ]
  )
  const rounds = told.flatMap(event => (event.type === 'round.end' ? [event.round] : []))
  t.strictSame(rounds, [1, 2, 3, 4], 'dropped answers count as rounds')
})

t.test('an empty answer is asked for again', async t => {
  for (const text of ['', ' \n ']) {
    const { requests, answer } = await ask([{ text }, { text: GOOD }])
    t.equal(requests[1]?.at(-1), complaint('it is empty'))
    t.equal(answer.structured?.valid, true)
  }
})

t.test(
  'always invalid with 2 retries: 3 model calls, and the last answer is given as it is, said to be invalid',
  async t => {
    const script = [{ text: '1', usage }, { text: '2', usage }, { text: ' 3', usage }, { text: GOOD }]
    for (const stream of [false, true]) {
      const { text, seen, answer, told, heard } = await ask(script, { policy: { maxRetries: 2 } }, stream)
      t.equal(seen.length, 3)
      t.equal(text, ' 3')
      t.strictSame(answer.structured, { valid: false, attempts: 3, errors: ['must be object'] })
      t.match(told.at(-1), { type: 'output.invalid', attempts: 3 })
      t.equal(answer.usage?.total, 45)
      if (stream) t.equal(heard.text(), ' 3')
    }
  }
)

t.test('with no retries there is one model call, whatever it answers', async t => {
  const { seen, answer } = await ask([{ text: 'no' }, { text: GOOD }], { policy: { maxRetries: 0 } })
  t.equal(seen.length, 1)
  t.match(answer.structured, { valid: false, attempts: 1 })
})

t.test('on_exhausted: fail ends the turn with output_invalid, which says what is wrong and what was used', async t => {
  const policy = { maxRetries: 1, onExhausted: 'fail' } as const
  for (const stream of [false, true]) {
    const script = [
      { text: 'a', usage },
      { text: '{}', usage }
    ]
    await t.rejects(ask(script, { policy }, stream), {
      code: 'output_invalid',
      status: 502,
      message: /in 2 attempts: must have required property 'sku'; must have required property 'units'/,
      detail: { usage: { total: 30 } }
    })
  }
})

t.test('extra fields pass unless the schema forbids them', async t => {
  const more = '{"sku":"BX-1","units":17,"place":"C3"}'
  t.equal((await ask([{ text: more }])).text, more)
  const { requests } = await ask([{ text: more }, { text: GOOD }], {
    schema: { ...STOCK, additionalProperties: false }
  })
  t.equal(requests[1]?.at(-1), complaint('must not have the property "place"'))
})

const NESTED = {
  type: 'object',
  properties: {
    shelf: {
      type: 'object',
      properties: { rows: { type: 'array', items: { $ref: '#/$defs/row' } } },
      required: ['rows']
    },
    state: { enum: ['open', 'closed'] }
  },
  required: ['shelf'],
  $defs: { row: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] } }
}

t.test('a complex nested answer passes, and one wrong deep inside is refused by its path', async t => {
  const good = '{"shelf":{"rows":[{"n":1},{"n":2}]},"state":"open"}'
  t.equal((await ask([{ text: good }], { schema: NESTED })).answer.structured?.attempts, 1)
  const bad = '{"shelf":{"rows":[{"n":1},{"n":0}]},"state":"ajar"}'
  const { requests } = await ask([{ text: bad }, { text: good }], { schema: NESTED })
  t.equal(requests[1]?.at(-1), complaint('/shelf/rows/1/n must be >= 1; /state must be one of ["open","closed"]'))
})

t.test('a schema that recurs is followed down', async t => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#' } } },
    required: ['name']
  }
  const { requests } = await ask([{ text: '{"name":"a","parts":[{"parts":[]}]}' }, { text: '{"name":"a"}' }], {
    schema
  })
  t.equal(requests[1]?.at(-1), complaint("/parts/0 must have required property 'name'"))
})

t.test('a code fence and white space are taken off, and the client gets the JSON alone, in both modes', async t => {
  const fenced = ['```json\n', '```\n', '```JSON\r\n', '\n ```', '```json'].map(head => `${head}${GOOD}\n\`\`\`  \n`)
  for (const said of [...fenced, ` ${GOOD}\n`, `\uFEFF${GOOD}`]) {
    for (const stream of [false, true]) {
      const { text, answer, seen, heard } = await ask([{ text: said }, { text: '{}' }], {}, stream)
      t.equal(text, GOOD, JSON.stringify(said))
      t.equal(seen.length, 1)
      t.equal(answer.messages.at(-1), answer.message)
      if (stream) t.equal(heard.text(), GOOD)
    }
  }
})

t.test('what the model wrote is not written anew: numbers keep their digits', async t => {
  const big = '{ "sku": "BX-1", "units": 12345678901234567890 }'
  t.equal((await ask([{ text: big }])).text, big)
})

t.test('text around the JSON, two values and a fence that does not close are not accepted', async t => {
  for (const text of [`Here: ${GOOD}`, `${GOOD}${GOOD}`, `\`\`\`json\n${GOOD}`, '```', '``````']) {
    const { seen } = await ask([{ text }, { text: GOOD }])
    t.equal(seen.length, 2, text)
  }
})

t.test('json_object means that any JSON object is right, and nothing else is', async t => {
  const format = { type: 'json_object' }
  t.equal((await ask([{ text: '{}' }], { format })).seen.length, 1)
  for (const text of ['[]', '17', '"x"', 'null', '{']) {
    t.equal((await ask([{ text }, { text: '{}' }], { format })).seen.length, 2, text)
  }
})

t.test('a json_schema without a schema takes any JSON; text and formats of a provider are left alone', async t => {
  const free = { type: 'json_schema', json_schema: { name: 'any' } }
  t.equal((await ask([{ text: '17' }], { format: free })).answer.structured?.valid, true)
  t.equal((await ask([{ text: 'x' }, { text: '17' }], { format: free })).seen.length, 2)
  for (const format of [{ type: 'text' }, { type: 'grammar', grammar: 'root ::= "a"' }]) {
    const { answer, seen } = await ask([{ text: 'x' }], { format })
    t.equal(answer.structured, undefined)
    t.strictSame(seen[0]?.prompt.params.response_format, format)
  }
})

t.test('a schema that cannot be used is the request’s fault, and no model is asked', async t => {
  const bad: [Fields, string, RegExp][] = [
    [{ type: 'objekt' }, 'response_format.json_schema.schema', /not a JSON Schema/],
    [{ pattern: '(?=a)' }, 'response_format.json_schema.schema', /pattern/],
    [{ $ref: 'https://example.com/x.json' }, 'response_format.json_schema.schema', /own parts only/]
  ]
  for (const [schema, param, message] of bad) {
    await t.rejects(ask([], { schema }), { code: 'invalid_request', status: 400, message, detail: { param } })
  }
  const malformed: [Fields, string][] = [
    [{ type: 'json_schema' }, 'response_format.json_schema'],
    [{ type: 'json_schema', json_schema: { schema: 'object' } }, 'response_format.json_schema.schema']
  ]
  for (const [format, param] of malformed) {
    await t.rejects(ask([], { format }), { code: 'invalid_request', status: 400, detail: { param } })
  }
})
