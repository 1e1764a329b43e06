import t, { type Test } from 'tap'
import { retry } from '../../src/advisors/retry.ts'
import { structuredOutput } from '../../src/advisors/structured-output.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Fields, ToolCall } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { rewrite } from '../../src/core/rewrite.ts'
import { textOf } from '../../src/core/text.ts'
import { type Advisor, advised, type Turn } from '../../src/core/turn.ts'
import { outputJudge } from '../../src/tools/output-judge.ts'
import { type Asked, ask, call, complaint, GOOD, ofSchema, STOCK, stockLevel, usage } from '../helper/structured.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from '../helper/turn.ts'

t.test('native sends the schema upstream in every request and adds no words', async t => {
  const { seen, requests } = await ask([{ text: 'x' }, { text: GOOD }])
  t.strictSame(
    seen.map(({ prompt }) => prompt.params.response_format),
    [ofSchema(STOCK), ofSchema(STOCK)]
  )
  t.strictSame(requests[0], ['user: Stock?'])
})

t.test('prompt puts the schema after the last user message in every request and sends no response_format', async t => {
  const { seen, requests, answer } = await ask(
    [{ calls: [call('c1')] }, { text: 'x' }, { text: `\`\`\`json\n${GOOD}\n\`\`\`` }],
    { mode: 'prompt', tools: { stock_level: stockLevel }, params: { temperature: 0 } }
  )
  t.strictSame(
    seen.map(({ prompt }) => prompt.params),
    [{ temperature: 0 }, { temperature: 0 }, { temperature: 0 }]
  )
  const first = requests[0]?.[0] ?? ''
  t.ok(first.startsWith('user: Stock?\nAnswer with JSON only'), first)
  t.ok(first.endsWith(JSON.stringify(STOCK)), 'the schema as the request has it')
  t.ok(
    requests.every(request => request[0] === first),
    'the question stays the same'
  )
  const last = requests[2]?.at(-1) ?? ''
  t.ok(last.startsWith(complaint('it is not valid JSON')) && last.endsWith(JSON.stringify(STOCK)), last)
  t.equal(textOf(answer.message.content), GOOD)
})

t.test('prompt knows formats without a schema, descriptions, and questions in parts', async t => {
  const first = async (format: Fields, changes: Partial<Turn> = {}) => {
    const { seen } = await ask([{ text: '{}' }], { format, mode: 'prompt', changes })
    return seen[0]?.prompt.messages.at(-1)?.content
  }
  t.match(await first({ type: 'json_object' }), /^Stock\?\nAnswer with one JSON object only/)
  t.match(await first({ type: 'json_schema', json_schema: { name: 'any' } }), /^Stock\?\nAnswer with JSON only/)
  const described = { type: 'json_schema', json_schema: { name: 'a', description: 'The stock.', schema: {} } }
  t.match(await first(described), /What it is: The stock\.\n\{\}$/)
  const content = [{ type: 'text', text: 'Stock?' }] as const
  const prompt = { model: 'sim', messages: [{ role: 'user', id: 'q', content } as const], tools: new Map(), params: {} }
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'prompt' })
  const model = scripted([{ text: '{}' }])
  const params = { response_format: { type: 'json_object' } }
  await advisor.advise(aTurn({ prompt: { ...prompt, params } }), model)
  t.match(model.seen[0]?.prompt.messages, [{ content: [content[0], { type: 'text', text: /^\nAnswer with/ }] }])
  const model2 = scripted([{ text: '{}' }])
  const system = { role: 'system', id: 's', content: 'Be brief.' } as const
  await advisor.advise(aTurn({ prompt: { ...prompt, messages: [system], params } }), model2)
  t.match(model2.seen[0]?.prompt.messages, [system, { role: 'user', content: /^Answer with/ }])
})

t.test(
  'a refused answer goes on with the same turn: tools are not run again, and limits count over all of it',
  async t => {
    let ran = 0
    const tools = { stock_level: async () => ({ content: String(++ran), status: 'ok' as const }) }
    const script = [{ calls: [call('c1')] }, { text: 'x' }, { calls: [call('c2')] }, { text: 'y' }, { text: GOOD }]
    const { requests, answer } = await ask(script, { tools })
    t.equal(ran, 2, 'only when the model calls them')
    t.strictSame(requests.at(-1), [
      ...['user: Stock?', 'assistant: ', 'tool: 1', 'assistant: ', 'tool: 2'],
      ...['assistant: y', complaint('it is not valid JSON')]
    ])
    t.strictSame(
      answer.messages.map(message => message.role),
      ['assistant', 'tool', 'assistant', 'tool', 'assistant'],
      'what the turn added is calls, results and the answer'
    )
    const limited = (changes: object) =>
      ask(script, { tools, changes: { policy: { ...aPolicy, limits: { ...aPolicy.limits, ...changes } } } })
    t.match((await limited({ maxRounds: 4 })).answer, { finish: 'round_limit' })
    t.equal((await limited({ maxRounds: 4 })).seen.length, 4)
    t.match((await limited({ maxCalls: 1 })).answer, { finish: 'tool_call_limit' })
  }
)

t.test('tokens of refused answers count toward max_tokens of the turn', async t => {
  const script = [
    { text: 'x', usage },
    { text: 'y', usage },
    { text: GOOD, usage }
  ]
  const changes = { policy: { ...aPolicy, limits: { ...aPolicy.limits, maxTokens: 30 } } }
  const { answer, seen } = await ask(script, { changes })
  t.equal(seen.length, 2)
  t.match(answer, { finish: 'token_limit', usage: { total: 30 } })
})

t.test('answers with calls, cut by a filter or ended by a limit are not judged; one cut by length is', async t => {
  const mine = { open_page: undefined }
  const page: ToolCall = { id: 'p1', name: 'open_page', arguments: '{}' }
  const cases: [Scripted, Asked][] = [
    [{ text: 'Look:', calls: [page] }, { tools: mine }],
    [{ text: 'Look:', calls: [page] }, { tools: { ...mine, stock_level: stockLevel } }],
    [{ text: 'No.', finish: 'content_filter' }, {}]
  ]
  for (const stream of [false, true]) {
    for (const [entry, asked] of cases) {
      const { seen, answer, heard } = await ask([entry, { text: GOOD }], asked, stream)
      t.equal(seen.length, 1)
      t.equal(answer.structured, undefined)
      if (!stream) continue
      t.equal(heard.text(), entry.text)
      t.equal(heard.heard.filter(delta => delta.type === 'call').length, entry.calls?.length ?? 0)
    }
    t.equal((await ask([{ text: '{"sku":', finish: 'length' }, { text: GOOD }], {}, stream)).seen.length, 2)
  }
})

t.test('a refusal in the vendor’s own field is given as it is', async t => {
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'native' })
  const turn = aTurn()
  const message = { role: 'assistant', id: 'm', content: '', calls: [], refusal: 'I cannot.' } as const
  const answer = await advisor.advise(
    { ...turn, prompt: { ...turn.prompt, params: { response_format: ofSchema(STOCK) } } },
    async () => ({ message, messages: [message], finish: 'stop', offered: new Map() })
  )
  t.equal(answer.message.refusal, 'I cannot.')
  t.equal(answer.structured, undefined)
})

t.test(
  'a stream sends no content of refused answers or of earlier rounds, only reasoning, then the answer once',
  async t => {
    const { emit, heard } = listener()
    const script = [{ text: 'Let me look.', calls: [call('c1')] }, { text: '{"sku":"BX-1"}' }, { text: GOOD }]
    const thinking: Advisor = {
      name: 'thinking',
      async advise(turn, next) {
        await turn.emit?.({ type: 'reasoning', text: `thought ${turn.round} `, field: 'reasoning_content' })
        return next(turn)
      }
    }
    for (const mode of ['native', 'prompt'] as const) {
      heard.length = 0
      const model = scripted(script)
      const advisor = structuredOutput({ judge: outputJudge, modeOf: () => mode })
      const turn = aTurn({ emit })
      const params = { response_format: ofSchema(STOCK) }
      const prompt = { ...turn.prompt, tools: toolbox({ stock_level: stockLevel }), params }
      await advised(model, advisor, toolLoop({ guards: [] }), thinking)({ ...turn, prompt })
      t.strictSame(
        heard.map(delta => ('text' in delta ? delta.text : delta.type)),
        ['thought 1 ', 'thought 2 ', 'thought 3 ', GOOD],
        mode
      )
    }
  }
)

t.test('the first call is heard at once where the gateway runs no tool by itself', async t => {
  await callIsHeard(t, { open_page: undefined })
  await callIsHeard(t, { open_page: stockLevel }, { policy: { ...aPolicy, toolExecution: 'manual' } })
})

async function callIsHeard(t: Test, tools: NonNullable<Asked['tools']>, changes: Partial<Turn> = {}) {
  const { emit, heard } = listener()
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'native' })
  const turn = aTurn({ emit, ...changes })
  const prompt = { ...turn.prompt, tools: toolbox(tools), params: { response_format: ofSchema({}) } }
  const message = { role: 'assistant', id: 'm', content: 'Look', calls: [{ ...call('p'), name: 'open_page' }] } as const
  await advisor.advise({ ...turn, prompt }, async asked => {
    await asked.emit?.({ type: 'text', text: 'Look' })
    t.strictSame(heard, [])
    await asked.emit?.({ type: 'call', index: 0, id: 'p', name: 'open_page', arguments: '{' })
    t.equal(heard.length, 2, 'the text before it, and its first piece')
    await asked.emit?.({ type: 'call', index: 0, arguments: '}' })
    t.equal(heard.length, 3)
    return { message, messages: [message], finish: 'stop', offered: prompt.tools }
  })
  t.equal(heard.length, 3, 'and nothing twice')
}

t.test('log probabilities of the answer are there in a stream too', async t => {
  const { emit, heard } = listener()
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'native' })
  const turn = aTurn({ emit })
  const message = { role: 'assistant', id: 'm', content: GOOD, calls: [] } as const
  const logprobs = { content: [{ token: '{', logprob: -0.1 }] }
  const params = { response_format: ofSchema(STOCK) }
  await advisor.advise({ ...turn, prompt: { ...turn.prompt, params } }, async () => {
    return { message, messages: [message], finish: 'stop', offered: new Map(), choice: { logprobs } }
  })
  t.strictSame(heard, [{ type: 'text', text: GOOD, logprobs }])
})

t.test('an advisor outside is asked once and hears of the good answer only', async t => {
  const seen: string[] = []
  const outer: Advisor = {
    name: 'outer',
    async advise(turn, next) {
      const answer = await next(turn)
      seen.push(textOf(answer.message.content))
      return answer
    }
  }
  const { answer } = await ask([{ text: 'x' }, { text: GOOD }], { outside: [outer] })
  t.strictSame(seen, [GOOD])
  t.equal(answer.structured?.attempts, 2)
})

t.test('a stream whose text breaks off is asked for again, as a call is, since nothing of it was sent', async t => {
  const broken = {
    text: '{"sku":"BX-1","un',
    errorAfter: 10,
    error: new GatewayError('upstream_disconnected', 'Gone.')
  }
  const page: ToolCall = { id: 'p1', name: 'open_page', arguments: '{}' }
  const play = async (script: Scripted[], tools: Asked['tools'] = {}, ...between: Advisor[]) => {
    const { emit, heard, text } = listener()
    const model = scripted(script)
    const advisor = structuredOutput({ judge: outputJudge, modeOf: () => 'native' })
    const again = retry({ maxRetries: 1, minMs: 0, maxMs: 0 })
    const turn = aTurn({ emit })
    const prompt = { ...turn.prompt, tools: toolbox(tools), params: { response_format: ofSchema(STOCK) } }
    await advised(model, advisor, ...between, toolLoop({ guards: [] }), again)({ ...turn, prompt })
    return { text: text(), calls: heard.filter(({ type }) => type === 'call').length }
  }
  t.strictSame(await play([broken, { text: GOOD }]), { text: GOOD, calls: 0 })
  t.strictSame(await play([broken, { text: GOOD }], { stock_level: stockLevel }), { text: GOOD, calls: 0 })
  const look = { text: 'Look', calls: [page] }
  t.strictSame(await play([broken, look], { open_page: undefined }), { text: 'Look', calls: 1 })

  const gathering: Advisor = {
    name: 'gathering',
    advise: (turn, next) => rewrite(turn, next, out => ({ write: out, end: () => undefined }))
  }
  await t.rejects(play([broken, { text: GOOD }], {}, gathering), { code: 'upstream_disconnected' })
})
