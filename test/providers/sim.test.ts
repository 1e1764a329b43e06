import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Answer, Fields, Message, Tool } from '../../src/core/chat.ts'
import { extend } from '../../src/core/turn.ts'
import { argumentsFor } from '../../src/providers/sim/arguments.ts'
import { simProvider } from '../../src/providers/sim/provider.ts'
import { aTurn, listener } from '../helper/turn.ts'

const sim = simProvider({ name: 'sim', allowScript: true })

function tool(name: string, description: string, parameters?: Fields): [string, Tool] {
  return [name, { name, description, kind: 'webhook', ...(parameters && { parameters }) }]
}

function object(properties: Fields, required: readonly string[] = Object.keys(properties)): Fields {
  return { type: 'object', properties, required }
}

const text = { type: 'string' }
const search = tool('toolSearchTool', 'Finds tools by weather, stock or anything', object({ query: text }))
const weather = tool('get_weather', 'The weather now in a city', object({ city: text }))
const stock = tool('stock_level', 'Number of units of an article', object({ sku: text }))

function asked(question: string, tools: readonly [string, Tool][] = [], params: Fields = {}) {
  const turn = aTurn({}, question)
  return { ...turn, prompt: { ...turn.prompt, model: 'sim', tools: new Map(tools), params } }
}

const tools = ({ message }: Answer): unknown[] =>
  message.calls.map(({ name, arguments: values }) => [name, JSON.parse(values)])

t.test('sim: calls the tool whose name and description have the most words of the question', async t => {
  t.same(tools(await sim.chat(asked('What is the weather in Oslo?', [search, stock, weather]))), [
    ['get_weather', { city: 'Oslo' }]
  ])
  t.same(tools(await sim.chat(asked('How many units of BX-1 are in stock?', [weather, stock]))), [
    ['stock_level', { sku: 'BX-1' }]
  ])
  t.same(tools(await sim.chat(asked('Hello there', [weather, stock]))), [], 'nothing fits')
  t.same(tools(await sim.chat(asked('The weather in Oslo?', [weather], { tool_choice: 'none' }))), [])
})

t.test('sim: searches when no tool fits, once, then calls what was found and tells the results', async t => {
  const turn = asked('What is the weather in Oslo?', [search])
  const first = await sim.chat(turn)
  t.same(tools(first), [['toolSearchTool', { query: 'What is the weather in Oslo?' }]])
  const result = (answer: Answer, content: string): Message => ({
    role: 'tool',
    id: `r_${content}`,
    callId: answer.message.calls[0]?.id ?? '',
    content
  })
  const after = extend(turn, [first.message, result(first, '["get_weather"]')])
  const found = { ...after, prompt: { ...after.prompt, tools: new Map([search, weather]) } }
  const second = await sim.chat(found)
  t.same(tools(second), [['get_weather', { city: 'Oslo' }]])
  t.not(second.message.calls[0]?.id, first.message.calls[0]?.id)

  const third = await sim.chat(extend(found, [second.message, result(second, `{"t":${'9'.repeat(600)}}`)]))
  t.same(third.message.calls, [])
  t.equal(third.message.content, `toolSearchTool: ["get_weather"]; get_weather: {"t":${'9'.repeat(495)}`)
})

const ARGUMENTS: [question: string, parameters: Fields, want: Fields][] = [
  ['Weather in New York tomorrow', object({ place: text }), { place: 'New York' }],
  ['Say "hello world" to Ann', object({ message: text, name: text }), { message: 'hello world', name: 'Ann' }],
  [
    'Convert 100 USD to EUR',
    object({ amount: { type: 'number' }, from: text, to: text }),
    { amount: 100, from: 'USD', to: 'EUR' }
  ],
  [
    'Convert 12.5 from GBP to EUR',
    object({ amount: { type: 'number' }, from_currency: text, to_currency: text }),
    { amount: 12.5, from_currency: 'GBP', to_currency: 'EUR' }
  ],
  [
    'Convert 100 USD to EUR',
    object({ amount: { type: 'number' }, from: { enum: ['EUR', 'USD', 'GBP'] }, to: { enum: ['EUR', 'USD', 'GBP'] } }),
    { amount: 100, from: 'USD', to: 'EUR' }
  ],
  [
    'How much is 5 usd in gbp?',
    object({ base: { enum: ['GBP', 'USD'] }, target: { enum: ['GBP', 'USD'] }, note: text }, ['base', 'target']),
    { base: 'USD', target: 'GBP' }
  ],
  [
    'From EUR to EUR',
    object({ from: { enum: ['USD', 'EUR'] }, to: { enum: ['USD', 'EUR'] } }),
    { from: 'EUR', to: 'EUR' }
  ],
  [
    'Add 30 days to 2026-01-15',
    object({ date: { type: 'string', format: 'date' }, days: { type: 'integer' } }),
    { date: '2026-01-15', days: 30 }
  ],
  [
    'Add 3 and 4',
    object({ a: { type: 'integer' }, b: { type: 'integer' }, c: { type: 'integer' } }),
    { a: 3, b: 4, c: 0 }
  ],
  ['It is FAHRENHEIT for me', object({ unit: { enum: ['celsius', 'fahrenheit'] } }), { unit: 'fahrenheit' }],
  ['Whatever', object({ unit: { enum: ['celsius', 'fahrenheit'] } }), { unit: 'celsius' }],
  ['Send it urgent', object({ urgent: { type: 'boolean' }, paid: { type: 'boolean' } }), { urgent: true, paid: false }],
  ['please do something', object({ query: text }), { query: 'please do something' }],
  [
    'please do something',
    object(
      { unit: { enum: ['a1'] }, n: { type: 'integer' }, b: { type: 'boolean' }, s: text, o: { type: 'object' } },
      []
    ),
    {}
  ],
  ['please do something', object({ ids: { type: 'array', items: text } }), { ids: [] }]
]

t.test('sim: takes arguments out of the words of the question', t => {
  for (const [question, parameters, want] of ARGUMENTS) t.same(argumentsFor(parameters, question), want, question)
  t.same(argumentsFor(undefined, 'Hi'), {})
  t.end()
})

t.test('sim: says what was said, or an instance of the schema that is asked for', async t => {
  t.equal((await sim.chat(asked('Hi  there'))).message.content, 'You said: Hi  there')
  const schema = {
    type: 'object',
    properties: { sku: text, units: { type: 'integer', minimum: 3 }, on: { $ref: '#/$defs/on' }, free: text },
    required: ['sku', 'units', 'on'],
    $defs: { on: { enum: [true] } }
  }
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }
  t.same(JSON.parse(String((await sim.chat(asked('Hi', [], format))).message.content)), { sku: '', units: 3, on: true })
  const anyObject = await sim.chat(asked('Hi', [], { response_format: { type: 'json_object' } }))
  t.same(JSON.parse(String(anyObject.message.content)), { answer: 'You said: Hi' })
})

t.test('sim: a stream says one word a piece, and as much as a call', async t => {
  const { emit, heard, text } = listener()
  const turn = asked('one two  three')
  const streamed = await sim.chat({ ...turn, emit })
  t.same(
    heard.map(delta => delta.type === 'text' && delta.text),
    ['You ', 'said: ', 'one ', 'two  ', 'three']
  )
  const called = await sim.chat(turn)
  t.equal(text(), called.message.content)
  t.same(streamed.usage, called.usage)
  t.ok(called.usage && called.usage.completion === Math.ceil(Buffer.byteLength('You said: one two  three') / 4))
  t.match(turn.told, [
    { type: 'attempt.start', round: 0, provider: 'sim', model: 'sim' },
    { type: 'attempt', provider: 'sim', model: 'sim', status: 200, outcome: 'ok' },
    {},
    {}
  ])
})

function scripted(script: unknown, changes: Parameters<typeof aTurn>[0] = {}) {
  const turn = aTurn(changes)
  return { ...turn, prompt: { ...turn.prompt, model: 'sim-script', params: { loopgate_script: script } } }
}

t.test('sim-script: plays an entry a model call, then says that there are no more', async t => {
  const call = { id: 'call_1', name: 'f', arguments: { sku: 'BX-1' } }
  const script = [
    {
      text: 'Let me look.',
      reasoning: 'hm',
      calls: [call, { name: 'g', arguments: '{"broken' }],
      usage: { prompt_tokens: 5, completion_tokens: 2 }
    },
    { text: 'cut', finish: 'length', usage: null }
  ]
  const { emit, heard } = listener()
  const turn = scripted(script, { emit, id: 'turn_plays' })
  const first = await sim.chat(turn)
  t.match(first, {
    message: {
      content: 'Let me look.',
      reasoning: { text: 'hm' },
      calls: [
        { id: 'call_1', name: 'f', arguments: '{"sku":"BX-1"}' },
        { id: 'call_sim_2', name: 'g', arguments: '{"broken' }
      ]
    },
    usage: { prompt: 5, completion: 2, total: 7 }
  })
  t.equal(heard.filter(({ type }) => type === 'text').length, 3)
  const second = await sim.chat(extend(turn, first.messages))
  t.match(second, { message: { content: 'cut' }, finish: 'length', usage: undefined })
  t.equal((await sim.chat(extend(turn, [...first.messages, ...second.messages]))).message.content, '(script used up)')
})

t.test(
  'sim-script: a round tried again gets the next entry, a turn resumed elsewhere the one of its round',
  async t => {
    const script = [{ status: 503, headers: { 'Retry-After': '2' }, body: {} }, { text: 'good' }, { text: 'later' }]
    const turn = scripted(script, { id: 'turn_retried' })
    await t.rejects(sim.chat(turn), {
      code: 'upstream_overloaded',
      detail: { retryAfterMs: 2000, upstreamStatus: 503 }
    })
    const good = await sim.chat(turn)
    t.equal(good.message.content, 'good')
    t.equal((await sim.chat(extend(turn, good.messages))).message.content, 'later')
    const elsewhere = simProvider({ name: 'sim', allowScript: true })
    t.equal((await elsewhere.chat(extend(turn, good.messages))).message.content, 'good')
    t.match(
      turn.told.filter(({ type }) => type === 'attempt'),
      [{ outcome: 'upstream_overloaded', status: 503 }, { outcome: 'ok' }, { outcome: 'ok' }, {}]
    )
  }
)

t.test('sim-script: raw chunks, cuts and whole completions go through the reader of real ones', async t => {
  const chunks = [{ choices: [{ delta: { content: 'hal' } }] }]
  const heard = listener()
  await t.rejects(sim.chat(scripted([{ chunks, cut: true }], { id: 'turn_cut', emit: heard.emit })), {
    code: 'upstream_disconnected',
    transient: true
  })
  t.equal(heard.text(), 'hal')
  t.match(await sim.chat(scripted([{ chunks: [...chunks, '[DONE]', 'x'] }], { id: 'turn_done' })), {
    message: { content: 'hal' }
  })
  await t.rejects(sim.chat(scripted([{ chunks: ['{"broken'] }], { id: 'turn_broken' })), {
    code: 'upstream_invalid_response'
  })
  await t.rejects(sim.chat(scripted([{ chunks: [{ error: { message: 'boom' } }] }], { id: 'turn_error' })), {
    message: 'boom'
  })
  const raw = {
    choices: [{ message: { content: 'whole', tool_calls: [] }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 }
  }
  t.match(await sim.chat(scripted([{ raw }], { id: 'turn_raw' })), {
    message: { content: 'whole' },
    usage: { total: 2 }
  })
})

t.test('sim-script: waits as told, and not for who has left', async t => {
  const startedAt = Date.now()
  await sim.chat(scripted([{ text: 'x', delay_ms: 60 }], { id: 'turn_slow' }))
  t.ok(Date.now() - startedAt >= 55)
  const leaving = new AbortController()
  const turn = scripted([{ text: 'x', delay_ms: 60_000 }], { id: 'turn_left', signal: leaving.signal })
  const answer = sim.chat(turn)
  leaving.abort(new Error('left'))
  await t.rejects(answer, { message: 'left' })
  t.match(turn.told, [{ type: 'attempt.start' }, { type: 'attempt', outcome: 'cancelled' }])
})

t.test('sim-script: takes its script from a file, and is not there when it is not allowed', async t => {
  const file = join(t.testdir(), 'script.json')
  await writeFile(file, JSON.stringify([{ text: 'from the file' }]))
  const withFile = simProvider({ name: 'sim', allowScript: true, scriptFile: file })
  t.equal((await withFile.chat(scripted(undefined, { id: 'turn_file' }))).message.content, 'from the file')
  const missing = simProvider({ name: 'sim', allowScript: true, scriptFile: `${file}.not` })
  await t.rejects(missing.chat(scripted(undefined)), { code: 'internal', message: /sim\.script_file/ })
  const without = simProvider({ name: 'sim', allowScript: false })
  await t.rejects(without.chat(scripted([])), { code: 'model_not_found' })
  await t.rejects(sim.chat(scripted('no list')), { code: 'invalid_request' })
  await t.rejects(sim.chat(scripted(['no object'], { id: 'turn_odd' })), { code: 'invalid_request' })
})
