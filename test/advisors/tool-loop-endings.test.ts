import t, { type Test } from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Answer, Tool, ToolCall } from '../../src/core/chat.ts'
import { type Advisor, advised, type Model, revise, type ToolResult, type Turn } from '../../src/core/turn.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from '../helper/turn.ts'

const call = (id: string, name: string, text = '{}'): ToolCall => ({ id, name, arguments: text })
const usage = { prompt: 40, completion: 10, total: 50 }

/** A tool that gives one result; `direct`: registered so. */
function giving(name: string, result: Partial<ToolResult>, direct = true): readonly [string, Tool] {
  const run = async () => ({ content: '', status: 'ok' as const, attempts: 1, ...result })
  return [name, { name, kind: 'builtin', run, ...(direct && { returnDirect: true }) }]
}

/** The answer as a call; what a stream of the same hears is held against it. */
async function ask(
  t: Test,
  { script, tools, loop = toolLoop({ guards: [limits] }), inside = [], changes = {} }: Asking
) {
  const once = async (heard?: ReturnType<typeof listener>) => {
    const turn = aTurn({ ...changes, emit: heard?.emit })
    const model = scripted(script)
    const answer = await advised(model, loop, ...inside)(revise(turn, { tools: new Map(tools) }))
    return { answer, model, turn, heard }
  }
  const [asked, streamed] = [await once(), await once(listener())]
  const shape = ({ finish, message, messages, direct }: Answer) => ({
    finish,
    content: message.content,
    calls: message.calls,
    direct,
    messages: messages.map(({ role, content }) => `${role}: ${content}`)
  })
  t.strictSame(shape(streamed.answer), shape(asked.answer), 'call and stream are alike')
  const heard = streamed.heard?.heard ?? []
  return { ...asked, text: streamed.heard?.text(), heardCalls: heard.filter(({ type }) => type === 'call') }
}

interface Asking {
  readonly script: readonly Scripted[]
  readonly tools: Iterable<readonly [string, Tool]>
  readonly loop?: Advisor
  readonly inside?: readonly Advisor[]
  readonly changes?: Partial<Turn>
}

t.test('the result of a return-direct tool is the answer, with its call and result before it', async t => {
  const { answer, model, text } = await ask(t, {
    script: [{ calls: [call('1', 'stock')], usage }],
    tools: [giving('stock', { content: '{"units":17}' })]
  })
  t.match(answer, { finish: 'return_direct', usage, direct: [{ id: '1', name: 'stock' }] })
  t.equal(answer.message.content, '{"units":17}')
  t.equal(text, '{"units":17}')
  t.equal(model.seen.length, 1)
  t.strictSame(
    answer.messages.map(each => (each.role === 'assistant' ? each.calls.length : each.content)),
    [1, '{"units":17}', 0]
  )
})

t.test('several results are joined in the order of the calls; what came to nothing leaves no gap', async t => {
  const { answer, text } = await ask(t, {
    script: [{ text: 'One moment.', calls: [call('1', 'a'), call('2', 'none'), call('3', 'b')] }],
    tools: [
      giving('a', { content: '{"units":17}' }),
      giving('none', { content: '(no content)', direct: '' }),
      giving('b', { content: '"printed"' })
    ]
  })
  t.equal(answer.message.content, '{"units":17}\n\n"printed"')
  t.equal(text, 'One moment.\n\n{"units":17}\n\n"printed"')
})

t.test('an error of a return-direct tool is the answer likewise', async t => {
  for (const status of ['error', 'unknown'] as const) {
    const { answer } = await ask(t, {
      script: [{ calls: [call('1', 'a')] }],
      tools: [giving('a', { content: 'warehouse closed', status, code: 'tool_error' })]
    })
    t.match(answer, { finish: 'return_direct', message: { content: 'warehouse closed' } })
  }
})

t.test('results go to the model unless every call ran and every tool returns direct', async t => {
  const direct = giving('a', { content: '17' })
  const batches: readonly [string, ToolCall[], Iterable<readonly [string, Tool]>][] = [
    ['another tool does not', [call('1', 'a'), call('2', 'b')], [direct, giving('b', { content: '18' }, false)]],
    ['a call was refused', [call('1', 'a'), call('2', 'a'), call('3', 'a'), call('4', 'a')], [direct]],
    ['a tool is not there', [call('1', 'a'), call('2', 'nope')], [direct]],
    ['the endpoint will not', [call('1', 'a'), call('2', 'b')], [direct, giving('b', { content: '1', direct: false })]]
  ]
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, onLimit: 'tell_model' as const } }
  for (const [name, calls, tools] of batches) {
    const { answer, model } = await ask(t, { script: [{ calls }, { text: 'Seen.' }], tools, changes: { policy } })
    t.match(answer, { finish: 'stop', message: { content: 'Seen.' } }, name)
    t.equal(answer.direct, undefined)
    t.equal(model.seen[1]?.prompt.messages.filter(({ role }) => role === 'tool').length, calls.length)
  }
})

t.test('a code of loop.fail_turn_on fails the turn, after the whole batch; the model is told of any other', async t => {
  const tools = [
    giving('slow', { content: 'The tool slow timed out.', status: 'error', code: 'tool_timeout' }),
    giving('blocked', { content: 'not reachable', status: 'error', code: 'egress_blocked' }),
    giving('fine', { content: '17' }, false)
  ]
  const failing = async (failTurnOn: string[], ...names: string[]) => {
    const turn = aTurn({ emit: listener().emit })
    const kept: unknown[] = []
    const model = scripted([{ calls: names.map((name, n) => call(`${n}`, name)) }, { text: 'Seen.' }])
    const loop = toolLoop({ guards: [], failTurnOn })
    const asked = { ...revise(turn, { tools: new Map(tools) }), keep: (message: unknown) => void kept.push(message) }
    const came = await loop.advise(asked, model).catch((error: unknown) => error)
    return { came, kept, ends: turn.told.filter(({ type }) => type === 'tool.end') }
  }
  const failed = await failing(['tool_time*'], 'slow', 'fine')
  t.match(failed.came, { code: 'tool_failed', status: 502, detail: { reason: 'tool_timeout' } })
  t.match(failed.ends, [{ code: 'tool_timeout' }, { status: 'ok' }], 'both results are told of')
  t.equal(failed.kept.length, 3, 'and kept, with the call')
  t.match((await failing(['tool_unreachable'], 'blocked', 'fine')).came, { detail: { reason: 'tool_unreachable' } })
  t.match((await failing(['tool_*'], 'nope')).came, { detail: { reason: 'tool_not_found' } })
  t.match((await failing(['tool_http_error'], 'slow', 'fine')).came, { message: { content: 'Seen.' } })
  t.match((await failing([], 'slow', 'fine')).came, { message: { content: 'Seen.' } })
})

t.test('under a list of finish reasons calls with any other are not run, and the text is the answer', async t => {
  const play = async (finishReason: string | undefined, eligibleFinish?: string[]) => {
    const tools = [giving('a', { content: '17' }, false)]
    const labelled: Advisor = {
      name: 'labelled',
      advise: async (turn, next) => ({ ...(await next(turn)), ...(finishReason && { finishReason }) })
    }
    const loop = toolLoop({ guards: [], eligibleFinish })
    const script = [{ text: 'Let me look.', calls: [call('1', 'a')] }, { text: 'Seen.' }]
    const { answer, turn, heardCalls } = await ask(t, { script, tools, loop, inside: [labelled] })
    t.strictSame(heardCalls, [])
    return [answer.finish, answer.message.content, turn.told.flatMap(each => (each.type === 'note' ? each.note : []))]
  }
  const ran = ['stop', 'Seen.', []]
  t.strictSame(await play('anything'), ran)
  t.strictSame(await play('TOOL_CALLS', ['tool_calls']), ran)
  t.strictSame(await play('tool_calls', ['stop', 'Tool_Calls']), ran)
  for (const word of ['stop', undefined]) {
    t.strictSame(await play(word, ['tool_calls']), ['stop', 'Let me look.', ['not_run:a']])
  }
})

t.test('calls that were cut are not run, even if the list has their finish reason', async t => {
  const { answer } = await ask(t, {
    script: [{ text: 'I', calls: [call('1', 'a', '{"x')], finish: 'length' }],
    tools: [giving('a', { content: '17' })],
    loop: toolLoop({ guards: [], eligibleFinish: ['length', 'tool_calls'] })
  })
  t.match(answer, { finish: 'length', message: { calls: [] } })
})

t.test('an advisor inside the loop adds tools at run time, also where there were none', async t => {
  const added: Advisor = {
    name: 'adds',
    advise: (turn, next) =>
      next(revise(turn, { tools: new Map([...turn.prompt.tools, giving('late', { content: '17' }, false)]) }))
  }
  const script = [{ text: 'Let me look.', calls: [call('1', 'late')] }, { text: 'There are 17.' }]
  for (const tools of [[], [giving('early', {}, false)], toolbox({ theirs: undefined })]) {
    const { answer, model, text, heardCalls } = await ask(t, { script, tools, inside: [added] })
    t.match(answer, { finish: 'stop', message: { content: 'There are 17.', calls: [] } })
    t.match(model.seen[1]?.prompt.messages.at(-1), { role: 'tool', content: '17' })
    t.equal(text, 'Let me look.\n\nThere are 17.')
    t.strictSame(heardCalls, [], "the client does not hear of a call that was never its tool's")
  }
})

t.test('once tools were added, calls of the client are held back like beside any tool of the gateway', async t => {
  const added: Advisor = {
    name: 'adds',
    advise: (turn, next) =>
      next(revise(turn, { tools: new Map([...turn.prompt.tools, giving('late', { content: '17' }, false)]) }))
  }
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, perTool: { late: 1 } } }
  const script = [{ calls: [call('1', 'late')] }, { calls: [call('2', 'theirs'), call('3', 'late')] }]
  const tools = toolbox({ theirs: undefined })
  const { answer, heardCalls } = await ask(t, { script, tools, inside: [added], changes: { policy } })
  t.equal(answer.finish, 'tool_call_limit')
  t.strictSame(heardCalls, [], 'the turn ends otherwise than by this call')
})

t.test('an advisor around the loop adds tools, too', async t => {
  const added: Advisor = {
    name: 'adds',
    advise: (turn, next) => next(revise(turn, { tools: new Map([giving('late', { content: '17' }, false)]) }))
  }
  const model = scripted([{ calls: [call('1', 'late')] }, { text: 'There are 17.' }])
  const chain: Model = advised(model, added, toolLoop({ guards: [] }))
  t.equal((await chain(aTurn())).message.content, 'There are 17.')
})

t.test('an advisor inside the loop takes calls out of an answer: they are not run', async t => {
  const without: Advisor = {
    name: 'without',
    async advise(turn, next) {
      const answer = await next(turn)
      const message = { ...answer.message, calls: answer.message.calls.filter(({ name }) => name !== 'pay') }
      return { ...answer, message, messages: [...answer.messages.slice(0, -1), message] }
    }
  }
  let paid = 0
  const pay: Tool = { name: 'pay', kind: 'builtin', run: async () => ({ content: `${++paid}`, status: 'ok' }) }
  const tools = [['pay', pay] as const, giving('a', { content: '17' }, false)]
  const one = await ask(t, { script: [{ text: 'Paid.', calls: [call('1', 'pay')] }], tools, inside: [without] })
  t.match(one.answer, { finish: 'stop', message: { content: 'Paid.', calls: [] } })
  const script = [{ calls: [call('1', 'pay'), call('2', 'a')] }, { text: 'Seen.' }]
  const two = await ask(t, { script, tools, inside: [without] })
  t.strictSame(
    two.answer.messages.map(each => each.role),
    ['assistant', 'tool', 'assistant']
  )
  t.equal(paid, 0)
})

t.test('a call by a name that nobody has waits for the end of the round, and then goes to the client', async t => {
  const calls = [call('1', 'made_up'), call('2', 'theirs')]
  const { answer, heardCalls } = await ask(t, { script: [{ calls }], tools: toolbox({ theirs: undefined }) })
  t.match(answer, { finish: 'client_calls', message: { calls } })
  t.strictSame(
    heardCalls,
    [
      { type: 'call', index: 1, ...calls[1] },
      { type: 'call', index: 0, ...calls[0] }
    ],
    'each once, under its own index'
  )
})
