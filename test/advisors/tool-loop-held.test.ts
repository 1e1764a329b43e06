import t from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Answer, LimitHit, Message, Usage } from '../../src/core/chat.ts'
import { closeBatch } from '../../src/core/close-batch.ts'
import { advised, type Run, type Turn } from '../../src/core/turn.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from '../helper/turn.ts'

const call = (id: string, name: string, text = '{}') => ({ id, name, arguments: text })
const usage: Usage = { prompt: 10, completion: 1, total: 11 }
const unnamed = { id: 'sess_1', key: 'session-key-1', named: false, branch: 'main' }
const manual = { ...aPolicy, toolExecution: 'manual' as const }

function ask(script: Scripted[], runs: Record<string, Run | undefined>, changes: Partial<Turn> = {}) {
  const turn = aTurn(changes)
  const asked = { ...turn, prompt: { ...turn.prompt, tools: toolbox(runs) } }
  const model = scripted(script)
  return { turn, model, answer: advised(model, toolLoop({ guards: [limits] }))(asked) }
}

function shape(messages: readonly Message[]) {
  return messages.map(message => {
    if (message.role === 'assistant') return message.calls.map(({ id }) => id)
    return message.role === 'tool' ? [message.callId, message.content] : message.role
  })
}

t.test(
  'of a mixed batch the gateway’s calls run, and the client gets its own, the same in call and stream',
  async t => {
    const script: Scripted[] = [
      { text: 'Wait.', calls: [call('1', 'ours'), call('2', 'theirs', '{"a":1}'), call('3', 'ours')], usage }
    ]
    for (const { emit, heard } of [listener(), { emit: undefined, heard: [] }]) {
      const ran: string[] = []
      const runs = {
        ours: async ({ id }: { id: string }) => {
          ran.push(id)
          return { content: `of ${id}`, status: 'ok' as const }
        },
        theirs: undefined
      }
      const { turn, model, answer } = ask(script, runs, { emit })
      const { finish, message, messages, held, usage: used } = await answer
      t.equal(finish, 'client_calls')
      t.strictSame(ran, ['1', '3'])
      t.equal(model.seen.length, 1)
      t.strictSame(message.calls, [call('2', 'theirs', '{"a":1}')])
      t.strictSame(shape(messages), [
        ['1', '2', '3'],
        ['1', 'of 1'],
        ['3', 'of 3']
      ])
      t.strictSame(
        held?.map(({ id, callId, runner, state, arguments: text }) => [id.slice(-4), callId, runner, state, text]),
        [
          ['r1i0', '1', 'gateway', 'succeeded', '{}'],
          ['r1i1', '2', 'client', 'requested', '{"a":1}'],
          ['r1i2', '3', 'gateway', 'succeeded', '{}']
        ]
      )
      t.strictSame(used, usage)
      t.match(
        turn.told.filter(({ type }) => type === 'tool.open' || type === 'note'),
        [{ type: 'tool.open', round: 1, index: 1, callId: '2', tool: 'theirs' }]
      )
      if (emit) {
        t.strictSame(
          heard.filter(({ type }) => type === 'call'),
          [{ type: 'call', index: 0, ...call('2', 'theirs', '{"a":1}') }]
        )
      }
    }
  }
)

t.test('where no session is named, what the client has to send back goes by minted ids', async t => {
  const runs = { ours: async () => ({ content: '1', status: 'ok' as const }), theirs: undefined }
  const mixed = [{ calls: [call('1', 'ours'), call('2', 'theirs')] }]
  const { emit, heard } = listener()
  const { message, held } = await ask(mixed, runs, { session: unnamed, emit }).answer
  t.match(message.calls[0]?.id, /^call_[0-9A-Z]{26}$/)
  t.strictSame(heard.at(-1), { type: 'call', index: 0, ...message.calls[0] })
  t.equal(held?.[1]?.callId, message.calls[0]?.id)

  const alone = await ask([{ calls: [call('2', 'theirs')] }], runs, { session: unnamed }).answer
  t.strictSame(alone.message.calls, [call('2', 'theirs')], 'what needs nothing of the gateway keeps its id')
  t.equal(alone.held, undefined)

  const late = await ask([{ calls: [call('1', 'ours')] }, { calls: [call('1', 'theirs')] }], runs, { session: unnamed })
    .answer
  t.match(late.held?.[0], { round: 2, callId: /^call_[0-9A-Z]{26}$/ }, 'a round before it is something to keep')
})

t.test(
  'manual: nothing runs, the calls come back as the model wrote them, and in a stream as it writes them',
  async t => {
    let ran = 0
    const runs = { ours: async () => ({ content: String(++ran), status: 'ok' as const }) }
    const script = [{ text: 'Look.', calls: [call('1', 'ours', '{broken'), call('1', 'nothing')], usage }]
    for (const session of [unnamed, { ...unnamed, named: true }]) {
      const { emit, heard } = listener()
      const { answer, model } = ask(script, runs, { policy: manual, session, emit })
      const { finish, message, held } = await answer
      t.equal(finish, 'client_calls')
      t.equal(model.seen.length, 1)
      const ids = message.calls.map(({ id }) => id)
      t.equal(ids[0] === '1', session.named)
      t.equal(new Set(ids).size, 2)
      t.strictSame(
        message.calls.map(({ name, arguments: text }) => [name, text]),
        [
          ['ours', '{broken'],
          ['nothing', '{}']
        ]
      )
      t.match(held, [
        { runner: 'gateway', state: 'requested', arguments: '{broken', effect: 'write' },
        { runner: 'nobody', state: 'requested' }
      ])
      t.strictSame(heard, [
        { type: 'text', text: 'Look.' },
        { type: 'call', index: 0, ...call(ids[0] ?? '', 'ours', '{broken') },
        { type: 'call', index: 1, ...call(ids[1] ?? '', 'nothing') }
      ])
    }
    t.equal(ran, 0)
  }
)

t.test('a limit that ends the turn in a mixed batch leaves no call without a result', async t => {
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, maxCalls: 0 } }
  const runs = { ours: async () => ({ content: '1', status: 'ok' as const }), theirs: undefined }
  const { finish, message, messages, held } = await ask([{ calls: [call('1', 'theirs'), call('2', 'ours')] }], runs, {
    policy
  }).answer
  t.equal(finish, 'tool_call_limit')
  t.strictSame(message.calls, [])
  t.equal(held, undefined)
  t.strictSame(shape(messages).slice(1, 3), [
    ['1', '(not answered)'],
    ['2', 'Limit reached: at most 0 tool calls in one turn.']
  ])
})

t.test('a turn that goes on counts what it had: rounds go on, tokens and calls add up', async t => {
  const runs = { ours: async () => ({ content: '1', status: 'ok' as const }) }
  const spent = { rounds: 2, usage: { prompt: 90, completion: 9, total: 99 } }
  const { model, answer } = ask([{ calls: [call('1', 'ours')], usage }], runs, {
    spent,
    policy: { ...aPolicy, limits: { ...aPolicy.limits, maxTokens: 100 } }
  })
  const { finish, usage: used } = await answer
  t.equal(finish, 'token_limit')
  t.strictSame(used, usage, 'and the client hears of its own request’s')
  t.strictSame(
    model.seen.map(({ round }) => round),
    [3]
  )
})

/** The turn as the edge makes it of the answer that waited and what the client says: with a result for every call. */
function goOn(turn: Turn, { messages, held = [] }: Answer, script: Scripted[]) {
  const given = held.flatMap(({ callId, result }): Message[] =>
    result ? [] : [{ role: 'tool', id: `of-${callId}`, callId, content: 'page' }]
  )
  const more = closeBatch([...turn.prompt.messages, ...messages, ...given])
  const changes = { ...turn, prompt: { ...turn.prompt, messages: more }, resumes: 'msg_waited' }
  return ask(script, { a: ran, theirs: undefined }, changes)
}

const ran: Run = async () => ({ content: '1', status: 'ok' })

function limited(onLimit: 'stop' | 'tell_model' | 'force_answer') {
  return { ...aPolicy, limits: { ...aPolicy.limits, perTool: { a: 1 }, onLimit } }
}

const hit: LimitHit = { kind: 'max_calls_per_tool', tool: 'a', max: 1 }

t.test('a limit that was met beside the client’s calls holds when the turn goes on', async t => {
  const script = [{ calls: [call('1', 'a'), call('2', 'theirs'), call('3', 'a')] }]
  const first = ask(script, { a: ran, theirs: undefined }, { policy: limited('force_answer') })
  const waiting = await first.answer
  t.equal(waiting.finish, 'client_calls')
  const { turn, model, answer } = goOn(first.turn, waiting, [{ text: 'So far.', calls: [call('4', 'a')] }])
  const { finish, message, limit } = await answer
  t.equal(finish, 'stop')
  t.strictSame([message.content, message.calls], ['So far.', []])
  t.strictSame(limit, hit)
  t.strictSame(
    model.seen.map(({ prompt }) => prompt.params.tool_choice),
    ['none']
  )
  t.match(
    turn.told.filter(({ type }) => type === 'limit'),
    [{ action: 'force_answer', hit }]
  )
})

t.test('rounds in which nothing ran are counted over all requests of the turn', async t => {
  const policy = limited('tell_model')
  const first = ask(
    [{ calls: [call('1', 'a')] }, { calls: [call('2', 'a')] }, { calls: [call('3', 'theirs')] }],
    { a: ran, theirs: undefined },
    { policy }
  )
  const waiting = await first.answer
  const going = goOn(first.turn, waiting, [{ calls: [call('4', 'a')] }, { text: 'Done.' }])
  t.equal((await going.answer).limit, undefined, 'what the client ran has run')
  t.equal(going.model.seen.at(-1)?.prompt.params.tool_choice, undefined)

  const refused = { isError: true as const, unrun: { breach: { hit, action: 'tell_model' as const } } }
  const rounds = ['1', '2', '3'].flatMap((id): Message[] => [
    { role: 'assistant', id: `a${id}`, content: '', calls: [call(id, 'a')] },
    { role: 'tool', id: `t${id}`, callId: id, content: 'Limit reached.', ...refused }
  ])
  const last = goOn(first.turn, { ...waiting, messages: rounds, held: [] }, [{ text: 'I give up.' }])
  t.strictSame((await last.answer).limit, hit, 'the third ended the request before')
  t.equal(last.model.seen[0]?.prompt.params.tool_choice, 'none')
})

t.test('a limit that ends a turn where it goes on hands over what the last batch came to', async t => {
  const policy = { ...aPolicy, limits: { ...aPolicy.limits, maxRounds: 1, maxCalls: 2 } }
  const first = ask([{ calls: [call('1', 'a'), call('2', 'theirs')] }], { a: ran, theirs: undefined }, { policy })
  const { finish, partialResults } = await goOn(first.turn, await first.answer, []).answer
  t.equal(finish, 'round_limit')
  t.strictSame(partialResults, [
    { id: '1', name: 'a', content: '1' },
    { id: '2', name: 'theirs', content: 'page' }
  ])
})

t.test('a call that a guard ended together with the turn is told of by a word for calls', async t => {
  const { turn, answer } = ask([{ calls: [call('1', 'a')] }], { a: () => Promise.reject(new Error('boom')) })
  await t.rejects(answer, { message: 'boom' })
  t.match(
    turn.told.filter(({ type }) => type === 'tool.end'),
    [{ callId: '1', status: 'unknown', code: 'tool_cancelled' }]
  )
})
