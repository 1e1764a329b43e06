import t, { type Test } from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { ToolCall } from '../../src/core/chat.ts'
import type { Limits } from '../../src/core/policy.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from '../helper/turn.ts'

const loop = toolLoop({ guards: [limits] })
const call = (id: string, name: string, text = `{"n":"${id}"}`): ToolCall => ({ id, name, arguments: text })
const round = (...calls: ToolCall[]): Scripted => ({ calls, usage: { prompt: 1, completion: 1, total: 2 } })

/** Plays a script as a call and as a stream, which must come to the same, and tells what happened as a call. */
async function both(t: Test, script: readonly Scripted[], changes: Partial<Limits>, params = {}) {
  const [asked, streamed] = [await play(script, changes, params), await play(script, changes, params, listener())]
  const shape = ({ answer, model, events, ran }: Played) => ({
    finish: answer.finish,
    limit: answer.limit,
    text: answer.message.content,
    usage: answer.usage,
    roles: answer.messages.map(({ role }) => role),
    choices: model.seen.map(({ prompt }) => prompt.params.tool_choice),
    events,
    ran
  })
  t.strictSame(shape(streamed), shape(asked), 'call and stream are alike')
  t.ok(streamed.heard?.text().endsWith(String(asked.answer.message.content)), 'what is heard ends with the answer')
  t.notOk(streamed.heard?.heard.some(({ type }) => type === 'call'))
  return asked
}

type Played = Awaited<ReturnType<typeof play>>

async function play(
  script: readonly Scripted[],
  changes: Partial<Limits>,
  params: object,
  heard?: ReturnType<typeof listener>
) {
  const ran: string[] = []
  const tool = async ({ id }: ToolCall) => {
    ran.push(id)
    return { content: '17', status: 'ok' as const, attempts: 1 }
  }
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, ...changes } }
  const turn = aTurn({ policy, emit: heard?.emit })
  const model = scripted(script)
  const tools = toolbox({ a: tool, b: tool })
  const answer = await loop.advise({ ...turn, prompt: { ...turn.prompt, tools, params: { ...params } } }, model)
  const events = turn.told.flatMap(event => (event.type === 'limit' ? [`${event.action} ${event.hit.kind}`] : []))
  return { answer, model, events, ran, heard }
}

t.test('tell_model: the refused call gets the text, the others run, and the model goes on', async t => {
  const script = [round(call('1', 'a'), call('2', 'a'), call('3', 'b')), round(call('4', 'b')), { text: 'I stop.' }]
  const { answer, model, events, ran } = await both(t, script, { perTool: { a: 1 }, onLimit: 'tell_model' })
  t.strictSame(ran, ['1', '3', '4'])
  t.equal(answer.finish, 'stop')
  t.equal(answer.message.content, 'I stop.')
  t.equal(answer.limit, undefined)
  t.strictSame(events, ['tell_model max_calls_per_tool'])
  t.match(model.seen[1]?.prompt.messages.at(-2), {
    callId: '2',
    content: 'Limit reached: a may be called at most 1 times in one turn.',
    isError: true
  })
  t.strictSame(
    model.seen.map(({ prompt }) => prompt.params.tool_choice),
    [undefined, undefined, undefined]
  )
})

t.test('tell_model: after three rounds in a row in which nothing ran the model may only answer', async t => {
  const script = [
    round(call('1', 'a')),
    round(call('2', 'a')),
    round(call('3', 'a'), call('4', 'no_such_tool')),
    round(call('5', 'b')),
    round(call('6', 'a')),
    round(call('7', 'a')),
    round(call('8', 'a')),
    { text: 'I give up.', calls: [call('9', 'b')] }
  ]
  const { answer, model, events, ran } = await both(t, script, { perTool: { a: 1 }, onLimit: 'tell_model' })
  t.strictSame(ran, ['1', '5'], 'a call in the last round does not run')
  t.equal(answer.finish, 'stop')
  t.equal(answer.message.content, 'I give up.')
  t.strictSame(answer.message.calls, [])
  t.strictSame(answer.limit, { kind: 'max_calls_per_tool', tool: 'a', max: 1 })
  t.strictSame(events, [...Array(5).fill('tell_model max_calls_per_tool'), 'force_answer max_calls_per_tool'])
  t.equal(model.seen.at(-1)?.prompt.params.tool_choice, 'none')
  t.equal(model.seen.at(-2)?.prompt.params.tool_choice, undefined)
})

t.test('without a limit met, rounds in which nothing ran do not make the model answer', async t => {
  const script = [...Array.from({ length: 5 }, (_, n) => round(call(`${n}`, 'no_such_tool'))), { text: 'Sorry.' }]
  const { answer, model } = await both(t, script, { onLimit: 'tell_model' })
  t.equal(answer.limit, undefined)
  t.equal(model.seen.at(-1)?.prompt.params.tool_choice, undefined)
})

t.test('force_answer: one more round with the same tools and no choice of them; the report says why', async t => {
  const script = [round(call('1', 'a'), call('2', 'a'), call('3', 'b')), { text: 'There is one.' }]
  const params = { tool_choice: 'required', temperature: 0 }
  const { answer, model, events, ran } = await both(t, script, { perTool: { a: 1 }, onLimit: 'force_answer' }, params)
  t.strictSame(ran, ['1', '3'])
  t.equal(answer.finish, 'stop')
  t.equal(answer.message.content, 'There is one.')
  t.strictSame(answer.limit, { kind: 'max_calls_per_tool', tool: 'a', max: 1 })
  t.strictSame(events, ['force_answer max_calls_per_tool'])
  const [first, last] = model.seen.map(({ prompt }) => prompt)
  t.strictSame(last?.params, { temperature: 0, tool_choice: 'none' })
  t.strictSame([...(last?.tools.keys() ?? [])], [...(first?.tools.keys() ?? [])])
  t.equal(model.seen.length, 2)
})

t.test('a model that says nothing when it must answer leaves the text of the limit', async t => {
  const script = [round(call('1', 'a'), call('2', 'a')), round(call('3', 'a'))]
  const { answer, ran } = await both(t, script, { perTool: { a: 1 }, onLimit: 'force_answer' })
  t.strictSame(ran, ['1'])
  t.equal(answer.finish, 'tool_call_limit')
  t.equal(answer.message.content, 'Limit reached: a may be called at most 1 times in one turn.')
  t.strictSame(answer.partialResults, [{ id: '1', name: 'a', content: '17' }])
  t.strictSame(
    answer.messages.map(({ role }) => role),
    ['assistant', 'tool', 'tool', 'assistant'],
    'the calls of the last round are not in the conversation'
  )
  t.equal(answer.usage?.total, 4)
})

t.test('a round limit gives a model that may be told one round more, to answer', async t => {
  const script = [round(call('1', 'a')), round(call('2', 'a')), { text: 'So far 17.' }]
  for (const onLimit of ['tell_model', 'force_answer'] as const) {
    const { answer, model, events } = await both(t, script, { maxRounds: 2, onLimit })
    t.equal(answer.finish, 'stop')
    t.equal(answer.message.content, 'So far 17.')
    t.strictSame(answer.limit, { kind: 'max_rounds', max: 2 })
    t.strictSame(events, ['force_answer max_rounds'])
    t.equal(model.seen.length, 3)
    t.equal(model.seen[2]?.prompt.params.tool_choice, 'none')
  }
})

t.test('limits of tokens and time stop, whatever is configured', async t => {
  for (const onLimit of ['tell_model', 'force_answer'] as const) {
    const tokens = await both(t, [round(call('1', 'a'))], { maxTokens: 2, onLimit })
    t.equal(tokens.answer.finish, 'token_limit')
    t.equal(tokens.answer.message.content, 'Limit reached: tokens.')
    t.strictSame(tokens.ran, [], 'checked before the batch')
    const late = await both(t, [round(call('1', 'a'))], { maxTurnMs: 0, onLimit })
    t.equal(late.answer.finish, 'time_limit')
    t.equal(late.model.seen.length, 0)
  }
})

t.test('identical calls: told at the fourth, over at the fifth', async t => {
  const same = (id: string) => round(call(id, 'a', '{"sku":"BX-1"}'))
  const script = [same('1'), same('2'), same('3'), same('4'), same('5'), { text: 'never asked for' }]
  const { answer, model, events, ran } = await both(t, script, { onLimit: 'tell_model' })
  t.strictSame(ran, ['1', '2', '3'])
  t.equal(answer.finish, 'identical_calls')
  t.strictSame(answer.limit, { kind: 'max_identical_calls', tool: 'a', max: 3 })
  t.equal(answer.message.content, 'Limit reached: a was called with these arguments 3 times in this turn.')
  t.strictSame(events, ['tell_model max_identical_calls', 'stop max_identical_calls'])
  t.equal(model.seen.length, 5)
  const stopped = await both(t, script, { onLimit: 'stop' })
  t.equal(stopped.model.seen.length, 4)
  t.equal(stopped.answer.finish, 'identical_calls')
})

t.test('limit_check batch: nothing of a batch runs in which one call goes too far, and each has a result', async t => {
  const script = [round(call('1', 'b'), call('2', 'a'), call('3', 'a')), { text: 'Then not.' }]
  for (const onLimit of ['stop', 'tell_model', 'force_answer'] as const) {
    const { answer, ran } = await both(t, script, { perTool: { a: 1 }, limitCheck: 'batch', onLimit })
    t.strictSame(ran, [], onLimit)
    t.equal(answer.messages.filter(({ role }) => role === 'tool').length, 3)
    t.equal(answer.finish, onLimit === 'stop' ? 'tool_call_limit' : 'stop')
  }
})

t.test('a limit met beside a call of the client is told of, though the turn waits', async t => {
  const turn = aTurn({
    policy: { ...aPolicy, limits: { ...aPolicy.limits, perTool: { a: 0 }, onLimit: 'tell_model' } }
  })
  const tools = toolbox({ a: async () => ({ content: '17', status: 'ok' }), theirs: undefined })
  const model = scripted([round(call('1', 'a'), call('2', 'theirs'))])
  const answer = await loop.advise({ ...turn, prompt: { ...turn.prompt, tools } }, model)
  t.equal(answer.finish, 'client_calls')
  t.match(answer.held, [{ result: { content: 'Limit reached: a may be called at most 0 times in one turn.' } }, {}])
  t.match(
    turn.told.filter(({ type }) => type === 'limit'),
    [{ action: 'tell_model', hit: { tool: 'a', max: 0 } }]
  )
})
