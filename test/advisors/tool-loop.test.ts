import t from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { ToolCall } from '../../src/core/chat.ts'
import type { Run, Turn } from '../../src/core/turn.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from '../helper/turn.ts'

const loop = toolLoop({ guards: [limits] })
const call = (id: string, name: string, text = '{}'): ToolCall => ({ id, name, arguments: text })
const answers =
  (content: string): Run =>
  async () => ({ content, status: 'ok', attempts: 1 })

function ask(script: Scripted[], tools: Record<string, Run | undefined>, changes: Partial<Turn> = {}, params = {}) {
  const model = scripted(script)
  const turn = aTurn(changes)
  const asked = { ...turn, prompt: { ...turn.prompt, tools: toolbox(tools), params } }
  return { model, turn, answer: loop.advise(asked, model) }
}

t.test('results go back in call order, whichever comes first, and usage is that of all rounds', async t => {
  const slow: Run = () => new Promise(done => setTimeout(() => done({ content: 'slow', status: 'ok' }), 20))
  const { model, answer } = ask(
    [
      { calls: [call('1', 'a'), call('2', 'b')], usage: { prompt: 40, completion: 10, total: 50 } },
      { text: 'done', usage: { prompt: 60, completion: 6, total: 67, cached: 3 } }
    ],
    { a: slow, b: answers('fast') }
  )
  const { message, messages, usage, finish } = await answer
  t.equal(message.content, 'done')
  t.equal(finish, 'stop')
  t.strictSame(usage, { prompt: 100, completion: 16, total: 117, cached: 3 })
  t.strictSame(
    model.seen[1]?.prompt.messages.map(each => (each.role === 'tool' ? `${each.callId}:${each.content}` : each.role)),
    ['user', 'assistant', '1:slow', '2:fast']
  )
  t.equal(messages.at(-1), message)
})

t.test('an unknown tool is told to the model with what there is, and the turn goes on', async t => {
  const { model, answer } = ask([{ calls: [call('1', 'stock_leevel')] }, { text: 'sorry' }], {
    stock_level: answers('17')
  })
  await answer
  t.match(model.seen[1]?.prompt.messages.at(-1), {
    content: 'There is no tool named stock_leevel. Available: stock_level.',
    isError: true
  })
})

t.test('calls that the output limit cut are neither run nor shown to the client', async t => {
  let ran = 0
  const tool: Run = async () => ({ content: String(++ran), status: 'ok' })
  const { emit, heard } = listener()
  const { answer } = ask([{ text: 'I', calls: [call('1', 'a', '{"x')], finish: 'length' }], { a: tool }, { emit })
  const { finish, message } = await answer
  t.equal(ran, 0)
  t.equal(finish, 'length')
  t.strictSame(message.calls, [])
  t.notOk(heard.some(({ type }) => type === 'call'))
})

t.test(
  'duplicate and blank call ids are renamed before they are replayed; broken arguments are replayed as {}',
  async t => {
    const { model, answer } = ask(
      [{ calls: [call('x', 'a', '{bad'), call('x', 'a'), call('', 'a', '""')] }, { text: 'ok' }],
      { a: answers('1') }
    )
    await answer
    const [, asked, ...results] = model.seen[1]?.prompt.messages ?? []
    const ids = asked?.role === 'assistant' ? asked.calls.map(({ id }) => id) : []
    t.equal(ids[0], 'x')
    t.equal(new Set(ids).size, 3)
    t.notOk(ids.includes(''))
    t.strictSame(
      results.map(each => each.role === 'tool' && each.callId),
      ids
    )
    t.equal(asked?.role === 'assistant' && asked.calls[0]?.arguments, '{}')
  }
)

t.test('without gateway tools the pieces of client calls pass as they come', async t => {
  const { emit, heard } = listener()
  const { answer } = ask([{ calls: [call('1', 'theirs')] }], { theirs: undefined }, { emit })
  t.equal((await answer).finish, 'client_calls')
  t.strictSame(heard, [{ type: 'call', index: 0, ...call('1', 'theirs') }])
})

t.test('preambles are heard with a blank line between rounds, unless the text has white space there', async t => {
  const said = async (first: string, second: string) => {
    const { emit, heard } = listener()
    await ask([{ text: first, calls: [call('1', 'a')] }, { text: second }], { a: answers('1') }, { emit }).answer
    return heard.map(delta => (delta.type === 'text' ? delta.text : delta.type))
  }
  t.strictSame(await said('Let me look.', 'There are 17.'), ['Let me look.', '\n\n', 'There are 17.'])
  t.strictSame(await said('Let me look. ', 'There are 17.'), ['Let me look. ', 'There are 17.'])
  t.strictSame(await said('Let me look.', '\nThere are 17.'), ['Let me look.', '\nThere are 17.'])
})

t.test('with preamble hide or a JSON response_format only the last round is heard', async t => {
  const script: Scripted[] = [{ text: 'Let me look.', calls: [call('1', 'a')] }, { text: '{"units":17}' }]
  for (const [changes, params] of [
    [{ policy: { ...aPolicy, preamble: 'hide' as const } }, {}],
    [{}, { response_format: { type: 'json_object' } }]
  ] as const) {
    const { emit, text } = listener()
    await ask(script, { a: answers('1') }, { emit, ...changes }, params).answer
    t.equal(text(), '{"units":17}')
  }
})

t.test('a forced choice of tool holds for the first round only', async t => {
  const { model, answer } = ask(
    [{ calls: [call('1', 'a')] }, { text: 'ok' }],
    { a: answers('1') },
    {},
    {
      tool_choice: 'required',
      temperature: 0
    }
  )
  await answer
  t.strictSame(
    model.seen.map(({ prompt }) => prompt.params),
    [{ tool_choice: 'required', temperature: 0 }, { temperature: 0 }]
  )
})

t.test('a round limit ends the turn with its text, its finish and the sum of usage', async t => {
  const usage = { prompt: 1, completion: 1, total: 2 }
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, maxRounds: 2 } }
  const { answer, turn } = ask(
    [
      { calls: [call('1', 'a', '{"n":1}')], usage },
      { calls: [call('2', 'a', '{"n":2}')], usage }
    ],
    { a: answers('1') },
    { policy }
  )
  const { finish, message, limit, usage: sum } = await answer
  t.equal(finish, 'round_limit')
  t.equal(message.content, 'Limit reached: at most 2 model calls in one turn.')
  t.strictSame(limit, { kind: 'max_rounds', max: 2 })
  t.equal(sum?.total, 4)
  t.match(
    turn.told.find(({ type }) => type === 'limit'),
    { action: 'stop' }
  )
})

t.test('when time is up before a batch its calls are refused, not run, and still have results', async t => {
  let ran = 0
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, maxTokens: 10 } }
  const { answer } = ask(
    [{ calls: [call('1', 'a')], usage: { prompt: 9, completion: 1, total: 10 } }],
    { a: async () => ({ content: String(++ran), status: 'ok' }) },
    { policy }
  )
  const { finish, messages } = await answer
  t.equal(finish, 'token_limit')
  t.equal(ran, 0)
  t.match(messages[1], { role: 'tool', callId: '1', content: 'Limit reached: tokens.', isError: true })
})

t.test('calls of a batch run at once up to max_parallel, one by one when asked', async t => {
  let running = 0
  let most = 0
  const tool: Run = async () => {
    most = Math.max(most, ++running)
    await new Promise(done => setTimeout(done, 5))
    running--
    return { content: 'x', status: 'ok' }
  }
  const calls = Array.from({ length: 6 }, (_, n) => call(`${n}`, 'a', `{"n":${n}}`))
  await ask([{ calls }, {}], { a: tool }, { policy: { ...aPolicy, maxParallel: 4 } }).answer
  t.equal(most, 4)
  most = 0
  await ask([{ calls }, {}], { a: tool }, {}, { parallel_tool_calls: false }).answer
  t.equal(most, 1)
})

t.test('a client that leaves during a tool ends the turn: no further call, no further round', async t => {
  const client = new AbortController()
  const tool: Run = async () => {
    client.abort(new Error('the client went away'))
    return { content: 'x', status: 'ok' }
  }
  const { model, answer } = ask([{ calls: [call('1', 'a')] }, {}], { a: tool }, { signal: client.signal })
  await t.rejects(answer, /went away/)
  t.equal(model.seen.length, 1)
})

t.test('every call is told once when it starts and once when it ends, also those that do not run', async t => {
  const { turn, answer } = ask([{ calls: [call('1', 'a'), call('2', 'nope')] }, { text: 'ok' }], { a: answers('1') })
  await answer
  const ends = turn.told.filter(event => event.type === 'tool.end')
  t.match(
    ends.sort((a, b) => a.index - b.index),
    [
      { callId: '1', status: 'ok', kind: 'builtin', round: 1, index: 0, attempts: 1 },
      { callId: '2', status: 'refused', code: 'tool_not_found', index: 1, attempts: 0 }
    ]
  )
})
