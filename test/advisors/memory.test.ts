import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { aConversation, Conversation, screen, stock, type Wire } from '../helper/conversation.ts'
import { aPolicy } from '../helper/turn.ts'

t.test('answers: the next turn sees question and answer, behind the system messages', async t => {
  const talk = await aConversation(t)
  await talk.ask(
    [{ system: 'Be a clerk.' }, { user: 'How many?' }],
    [{ text: 'Let me look.', calls: [stock('c1')] }, { text: '17.' }]
  )
  await talk.ask([{ system: 'Be a clerk.' }, { user: 'And then?' }], [{ text: '12.' }])
  t.strictSame(talk.seen, [['system: Be a clerk.', 'user: How many?', 'assistant: 17.', 'user: And then?']])
  t.strictSame(await talk.remembered(), ['user: How many?', 'assistant: 17.', 'user: And then?', 'assistant: 12.'])
  t.strictSame((await talk.kept())[0], [
    'turn_1',
    'completed',
    ['user: How many?', 'assistant: Let me look. <c1 stock>', 'result c1: {"of":"BX-1"}', 'assistant: 17.']
  ])
})

t.test('all: calls and results are recalled too, under call ids that are there once', async t => {
  const talk = await aConversation(t, { recall: 'all' })
  await talk.ask('How many?', [{ calls: [stock('c1')] }, { text: '17.' }])
  const answers = new Conversation(talk.stores)
  await answers.ask('A turn that does not see the first one', [{ calls: [stock('c1')] }, { text: '3.' }], {
    id: 'turn_b'
  })
  await talk.ask('And then?', [{ calls: [stock('c1')] }, { text: '12.' }])
  const [first = [], second = []] = talk.seen
  t.strictSame(first.slice(0, 4), [
    'user: How many?',
    'assistant: <c1 stock>',
    'result c1: {"of":"BX-1"}',
    'assistant: 17.'
  ])
  const ids = second.flatMap(each => /<(\S+) stock>/.exec(each)?.[1] ?? [])
  t.equal(ids.length, 3)
  t.equal(new Set(ids).size, 3, ids.join())
  t.strictSame(
    second.flatMap(each => /result (\S+):/.exec(each)?.[1] ?? []),
    ids,
    'each result still has its call'
  )
  await talk.ask('Again', [{ text: 'Yes.' }])
  t.strictSame(talk.seen[0]?.slice(0, first.length - 1), first.slice(0, -1), 'and the same text each time')
})

t.test('off: the turn passes untouched, and nothing is stored', async t => {
  const talk = await aConversation(t)
  const off = new Conversation(talk.stores, { mode: 'off' })
  await talk.ask('One', [{ text: '1' }])
  await off.ask('Two', [{ text: '2' }], { id: 'turn_off' })
  t.strictSame(off.seen, [['user: Two']])
  t.equal((await talk.kept()).length, 1)
})

t.test('the window takes past turns whole, newest first, and never cuts the open turn', async t => {
  const talk = await aConversation(t, { window: { maxMessages: 4 } })
  for (const n of [1, 2, 3, 4]) await talk.ask(`Question ${n}`, [{ text: `Answer ${n}` }])
  t.strictSame(await talk.remembered(), [
    'user: Question 3',
    'assistant: Answer 3',
    'user: Question 4',
    'assistant: Answer 4'
  ])

  const all = new Conversation(talk.stores, { recall: 'all', window: { maxMessages: 3 } })
  const calls = [1, 2, 3, 4].map(n => ({ calls: [stock(`c${n}`, `BX-${n}`)] }))
  await all.ask('Many calls', [...calls, { text: 'Done.' }], { id: 'turn_many' })
  t.equal(all.seen.at(-1)?.length, 2 + 9, 'one past turn, and all of its own')
  t.strictSame(await all.remembered(), ['user: Many calls', 'assistant: Done.'], 'too large: question and answer')

  const turns = new Conversation(talk.stores, { window: { maxTurns: 1 } })
  t.strictSame(await turns.remembered(), ['user: Many calls', 'assistant: Done.'])
  const tokens = new Conversation(talk.stores, { window: { maxTokens: 12 } })
  t.strictSame(await tokens.remembered(), [
    'user: Question 4',
    'assistant: Answer 4',
    'user: Many calls',
    'assistant: Done.'
  ])
})

t.test('without a bound on turns, as many as there are', async t => {
  const talk = await aConversation(t, { window: {} })
  for (let n = 0; n < 90; n++) await talk.ask(`Q${n}`, [{ text: `A${n}` }])
  const all = await talk.remembered()
  t.equal(all.length, 180)
  t.equal(all[0], 'user: Q0')
})

t.test('a limited turn is recalled in all only, with its refusal and without the breach text', async t => {
  const talk = await aConversation(t)
  const policy = { ...aPolicy, memory: talk.policy, limits: { ...aPolicy.limits, maxCallsPerTool: 1 } }
  const script = [{ calls: [stock('c1')] }, { calls: [stock('c2', 'BX-2')] }]
  await talk.ask('Loop', script, { policy })
  t.strictSame(await talk.remembered(), [])
  const all = new Conversation(talk.stores, { recall: 'all' })
  t.strictSame(await all.remembered(), [
    'user: Loop',
    'assistant: <c1 stock>',
    'result c1: {"of":"BX-1"}',
    'assistant: <c2 stock>',
    'result c2: Limit reached: stock may be called at most 1 times in one turn.'
  ])
  await talk.ask('Next', [{ text: 'Fine.' }])
  t.strictSame(talk.seen, [['user: Next']])
})

t.test('a turn is on disk before its answer is returned; without a store there is no answer', async t => {
  const talk = await aConversation(t)
  await talk.stores.close()
  await t.rejects(talk.ask('Hello', [{ text: 'Hi' }]), { code: 'store_unavailable' })
})

t.test('client calls: the results that come back are joined with what was stored', async t => {
  const talk = await aConversation(t)
  await talk.ask('Earlier', [{ text: 'Yes.' }])
  const first = await talk.ask('Look', [{ calls: [stock('c1')] }, { calls: [screen('s1'), screen('s2')] }])
  t.equal(first.finish, 'client_calls')
  t.strictSame(await talk.remembered(), ['user: Earlier', 'assistant: Yes.'], 'an open turn is not recalled')
  t.match((await talk.kept())[1], ['turn_2', 'awaiting_client'])

  const whole = [
    'user: Earlier',
    'assistant: Yes.',
    'user: Look',
    'assistant: <c1 stock>',
    'result c1: {"of":"BX-1"}',
    'assistant: <s1 screen> <s2 screen>',
    'result s1: blue',
    'result s2: red'
  ]
  // The client knows of its own calls only, and sends the results in another order.
  const copy: Wire[] = [
    { system: 'S' },
    { user: 'Look' },
    { assistant: '', calls: [screen('s1'), screen('s2')] },
    { tool: 'red', of: 's2' },
    { tool: 'blue', of: 's1' }
  ]
  const down = new GatewayError('upstream_error', 'Down.')
  await t.rejects(talk.ask(copy, [{ error: down }]), down)
  t.match((await talk.kept())[1], ['turn_2', 'awaiting_client'], 'a failure leaves it open, to be sent again')

  await talk.ask(copy, [{ text: 'Both.' }])
  t.strictSame(talk.seen, [['system: S', ...whole]])
  const question = talk.lastTurn?.prompt.messages.find(({ id }) => id === talk.lastTurn?.question)
  t.match(question, { content: 'Look' }, 'and the turn still begins with its question')
  t.strictSame(await talk.kept(), [
    ['turn_1', 'completed', ['user: Earlier', 'assistant: Yes.']],
    ['turn_2', 'completed', [...whole.slice(2), 'assistant: Both.']]
  ])
})

t.test('client calls: results alone are enough, and one that is missing is said to be', async t => {
  const talk = await aConversation(t)
  await talk.ask('Look', [{ calls: [screen('s1'), screen('s2')] }])
  await talk.ask([{ tool: 'red', of: 's2' }], [{ calls: [screen('s3')] }])
  await talk.ask([{ tool: 'green', of: 's3' }], [{ text: 'Done.' }])
  const turn = [
    'user: Look',
    'assistant: <s1 screen> <s2 screen>',
    'result s1: (not answered)',
    'result s2: red',
    'assistant: <s3 screen>',
    'result s3: green'
  ]
  t.strictSame(talk.seen, [turn])
  t.strictSame(await talk.kept(), [['turn_1', 'completed', [...turn, 'assistant: Done.']]])
})

t.test('client calls: a question beside the results goes on with them', async t => {
  const talk = await aConversation(t)
  await talk.ask('Look', [{ calls: [screen('s1')] }])
  await talk.ask([{ tool: 'red', of: 's1' }, { user: 'And why?' }], [{ text: 'So.' }])
  t.strictSame(talk.seen, [['user: Look', 'assistant: <s1 screen>', 'result s1: red', 'user: And why?']])
  t.strictSame(await talk.remembered(), ['user: Look', 'user: And why?', 'assistant: So.'])
})

t.test('client calls: a new question in their place supersedes the turn', async t => {
  const talk = await aConversation(t, { recall: 'all' })
  await talk.ask('Look', [{ calls: [screen('s1')] }])
  await talk.ask('Something else', [{ text: 'Yes.' }])
  t.strictSame(talk.seen, [['user: Something else']])
  t.strictSame(await talk.kept(), [
    ['turn_1', 'superseded', ['user: Look', 'assistant: <s1 screen>', 'result s1: (not answered)']],
    ['turn_2', 'completed', ['user: Something else', 'assistant: Yes.']]
  ])
  await talk.ask('Again', [{ calls: [screen('s2')] }])
  await talk.ask(
    [{ user: 'Again' }, { assistant: '', calls: [screen('s2')] }, { user: 'No, that' }],
    [{ text: 'That.' }]
  )
  t.strictSame(
    talk.seen,
    [['user: Again', 'assistant: <s2 screen>', 'result s2: (not answered)', 'user: No, that']],
    'a call that is sent again has a result'
  )
})

t.test('a request with a history of its own recalls nothing, and only what is new of it is stored', async t => {
  const talk = await aConversation(t)
  await talk.ask('One', [{ text: 'Let me see.', calls: [stock('c1')] }, { text: '1.' }])
  await talk.ask('Two', [{ text: '2.' }])
  // A client that streamed has the preamble in front.
  const history: Wire[] = [
    { system: 'S' },
    { user: 'One' },
    { assistant: 'Let me see.\n\n1.' },
    { user: 'Two' },
    { assistant: '2.' }
  ]
  await talk.ask([...history, { user: 'Three' }], [{ text: '3.' }])
  t.strictSame(talk.seen, [
    ['system: S', 'user: One', 'assistant: Let me see.\n\n1.', 'user: Two', 'assistant: 2.', 'user: Three']
  ])
  t.equal((await talk.kept()).length, 3, 'all of it was known')

  const longer: Wire[] = [
    ...history,
    { user: 'Elsewhere' },
    { assistant: '', calls: [stock('x1')] },
    { tool: '5', of: 'x1' },
    { assistant: 'Five.' },
    { user: 'Three' },
    { assistant: '3.' }
  ]
  await talk.ask([...longer, { user: 'Four' }], [{ text: '4.' }])
  const kept = await talk.kept()
  t.strictSame(kept.map(([, status, lines]) => [status, ...lines]).slice(3), [
    ['completed', 'user: Elsewhere', 'assistant: <x1 stock>', 'result x1: 5', 'assistant: Five.'],
    ['completed', 'user: Four', 'assistant: 4.']
  ])
  const [, , , brought] = await talk.stores.sessions.turns('session-key-1', ['completed'], 99)
  t.ok(
    brought?.messages.every(({ origin }) => origin === 'client'),
    'and is marked'
  )
  t.strictSame((await talk.remembered()).slice(-4), [
    'user: Elsewhere',
    'assistant: Five.',
    'user: Four',
    'assistant: 4.'
  ])
})

t.test('a session that was made up for the request has no past to read', async t => {
  const talk = await aConversation(t)
  await talk.ask('One', [{ text: '1' }])
  await talk.ask('Two', [{}], { session: { id: 'sess_1', key: 'session-key-1', named: false, branch: 'main' } })
  t.strictSame(talk.seen, [['user: Two']])
})
