import t from 'tap'
import { type LoopAnswer, loopGateway, type ModelRound } from './helper/loop-gateway.ts'

// Starts a process, which takes a while on a busy machine.
t.setTimeout(180_000)

const weather: Readonly<Record<string, string>> = { Oslo: '3', Paris: '21', Tokyo: '28' }
const gateway = await loopGateway({
  weather: { answer: ({ city }) => ({ body: JSON.stringify({ city, celsius: weather[city] }) }) },
  stock: { answer: () => ({ body: '{"units":17}' }) }
})
t.teardown(() => gateway.stop())

const roles = ({ requests }: LoopAnswer) =>
  requests.map(({ messages }) => messages.map(({ role }: { role: string }) => role).join(' '))
const results = (request: LoopAnswer['requests'][number]) =>
  request.messages
    .filter(({ role }: { role: string }) => role === 'tool')
    .map((each: Record<string, string>) => `${each.tool_call_id}: ${each.content}`)

t.test('an answer without calls is handed on as it is: one model call, no tool, its own usage', async t => {
  for (const answer of await gateway.both([{ text: 'Seventeen.', usage: [1, 2, 3] }])) {
    t.equal(answer.content, 'Seventeen.')
    t.strictSame(answer.finish, ['stop'])
    t.equal(answer.requests.length, 1)
    t.strictSame(answer.called, [])
    t.strictSame(answer.usage, [{ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }])
  }
})

t.test('a request without tools is passed on untouched, and what the model makes of it too', async t => {
  const body = {
    messages: [
      { role: 'system', content: 'Be brief.', name: 'house' },
      { role: 'user', content: 'What is it?' }
    ],
    temperature: 0.3,
    stop: ['END'],
    loopgate: { tools: [] }
  }
  for (const { requests, content } of await gateway.both([{ text: 'x' }], { body })) {
    const [{ messages, temperature, stop, tools }] = requests as [Record<string, unknown>]
    t.strictSame({ loopgate: body.loopgate, messages, temperature, stop }, body)
    t.equal(tools, undefined)
    t.equal(content, 'x')
  }
})

t.test('a call is run and its result shown to the model, beside its own words, until it answers', async t => {
  for (const answer of await gateway.both([{ calls: [['stock', { sku: 'BX-1' }, 'c1']] }, { text: 'There are 17.' }])) {
    t.equal(answer.content, 'There are 17.')
    t.strictSame(answer.finish, ['stop'])
    t.strictSame(answer.calls, [], 'the client is handed no call')
    t.strictSame(answer.called, ['stock {"sku":"BX-1"}'])
    t.strictSame(roles(answer), ['user', 'user assistant tool'])
    t.match(answer.requests[1].messages[1].tool_calls, [
      { id: 'c1', type: 'function', function: { name: 'stock', arguments: '{"sku":"BX-1"}' } }
    ])
    t.strictSame(results(answer.requests[1]), ['c1: {"units":17}'])
  }
})

t.test('each round is shown the whole turn so far, and the rounds go on as long as there are calls', async t => {
  const rounds: ModelRound[] = [
    { calls: [['stock', { n: 1 }, 'c1']] },
    { calls: [['stock', { n: 2 }, 'c2']] },
    { text: 'Done.' }
  ]
  for (const answer of await gateway.both(rounds)) {
    t.strictSame(roles(answer), ['user', 'user assistant tool', 'user assistant tool assistant tool'])
    t.strictSame(answer.called, ['stock {"n":1}', 'stock {"n":2}'])
    t.strictSame(results(answer.requests[2]), ['c1: {"units":17}', 'c2: {"units":17}'])
    t.equal(answer.content, 'Done.')
    t.match(answer.loopgate, { rounds: 3, tool_calls: 2, finish: 'stop' })
  }
})

t.test('each count of usage is summed over the rounds on its own, also those of caches and reasoning', async t => {
  const details = (n: number) => ({
    prompt_tokens_details: { cached_tokens: n },
    completion_tokens_details: { reasoning_tokens: n + 1 }
  })
  for (const { usage, loopgate } of await gateway.both([
    { calls: [['stock']], usage: [10, 20, 31, details(4)] },
    { text: 'x', usage: [1, 2, 3, details(1)] }
  ])) {
    t.strictSame(usage, [
      {
        prompt_tokens: 11,
        completion_tokens: 22,
        total_tokens: 34,
        prompt_tokens_details: { cached_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 7 }
      }
    ])
    t.match(
      loopgate.round_list.map(({ usage }: Record<string, object>) => usage),
      [{ total_tokens: 31 }, { total_tokens: 3 }]
    )
  }
})

t.test('a round that reports no usage adds nothing, wherever it stands; with none at all none is told', async t => {
  const sums = { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 }
  const last = await gateway.both([{ calls: [['stock']], usage: [11, 22, 33] }, { text: 'x' }])
  const first = await gateway.both([{ calls: [['stock']] }, { text: 'x', usage: [11, 22, 33] }])
  const empty = await gateway.both([
    { calls: [['stock']], usage: [0, 0, 0] },
    { text: 'x', usage: [11, 22, 33] }
  ])
  for (const { usage } of [...last, ...first, ...empty]) t.strictSame(usage, [sums])
  for (const { usage } of await gateway.both([{ calls: [['stock']] }, { text: 'x' }])) t.strictSame(usage, [])
})

t.test('a stream hands the pieces of an answer on as they are, and says nothing of the rounds before', async t => {
  const pieces = ['There ', 'are ', '17', '.']
  const plain = await gateway.ask([{ pieces }], true)
  t.strictSame(plain.pieces, pieces)
  const answer = await gateway.ask([{ calls: [['stock']] }, { calls: [['stock', { n: 2 }]] }, { pieces }], true)
  t.strictSame(answer.pieces, pieces)
  t.strictSame(answer.calls, [])
  t.strictSame(answer.finish, ['stop'])
  t.equal(answer.requests.length, 3)
})

t.test('text beside a call is shown in a stream, and only the last text is the answer of a call', async t => {
  const [call, stream] = await gateway.both([{ text: 'Let me look.', calls: [['stock']] }, { text: 'There are 17.' }])
  t.equal(call.content, 'There are 17.')
  t.equal(stream.content, 'Let me look.\n\nThere are 17.')
})

t.test('three cities asked at once, or one after another: every reading is before the model, in order', async t => {
  const cities = Object.keys(weather)
  const calls = cities.map(city => ['weather', { city }, city] as const)
  const expected = cities.map(city => `${city}: ${JSON.stringify({ city, celsius: weather[city] })}`)
  for (const answer of await gateway.both([{ calls }, { text: 'Oslo 3, Paris 21, Tokyo 28' }])) {
    t.strictSame(results(answer.requests[1]), expected)
    t.match(answer.loopgate, { rounds: 2, tool_calls: 3 })
  }
  const serial = [...calls.map(call => ({ calls: [call] })), { text: 'Oslo 3, Paris 21, Tokyo 28' }]
  for (const answer of await gateway.both(serial)) {
    t.strictSame(results(answer.requests[3]), expected)
    t.equal(answer.content, 'Oslo 3, Paris 21, Tokyo 28')
    t.match(answer.loopgate, { rounds: 4, tool_calls: 3 })
  }
})

t.test('the label tool_calls without a call is an answer; calls under the label stop are run', async t => {
  for (const answer of await gateway.both([{ text: 'Nothing to call.', finish: 'tool_calls' }])) {
    t.equal(answer.content, 'Nothing to call.')
    t.strictSame([answer.finish, answer.called], [['stop'], []])
  }
  for (const answer of await gateway.both([{ calls: [['stock']], finish: 'stop' }, { text: 'There are 17.' }])) {
    t.equal(answer.content, 'There are 17.')
    t.equal(answer.called.length, 1)
  }
})

t.test('tool_choice holds for the first round; tools are offered in every round, the same and in order', async t => {
  for (const { requests } of await gateway.both([{ calls: [['stock']] }, { text: 'x' }], {
    body: { tool_choice: 'required' }
  })) {
    const offered = requests.map(({ tools }) =>
      tools.map((tool: Record<string, { name: string }>) => tool.function?.name)
    )
    t.strictSame(offered, [
      ['weather', 'stock'],
      ['weather', 'stock']
    ])
    t.strictSame(requests[1].tools, requests[0].tools)
    t.strictSame(
      requests.map(({ tool_choice }) => tool_choice ?? 'auto'),
      ['required', 'auto']
    )
  }
})
