import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { completed, talking, until, usage } from './helper/talk.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(120_000)

t.test('older turns are summarised once the answer has left, in call and stream', async t => {
  const written = Promise.withResolvers<void>()
  const talk = await talking(t, { trigger: { turns: 3 }, keep_turns: 1 }, async response => {
    await written.promise
    completed(response, 'The notes.')
  })
  await talk.ask('One')
  await talk.ask('Two', { stream: true })
  t.strictSame(talk.noted, [])
  const third = await talk.ask('Three', { stream: true })
  t.match(third.text, /Re: Three[\s\S]*\[DONE\]/, 'the answer is there')
  await until(() => talk.noted.length === 1)
  t.match(await talk.recalled(), { length: 6 }, 'while the model still writes')
  await talk.ask('Four')
  t.equal(talk.talked.at(-1)?.length, 7, 'turns go on meanwhile')
  written.resolve()
  await until(() => talk.compactions.length === 1)

  const recalled = ['system: The notes.', 'user: Three', 'assistant: Re: Three', 'user: Four', 'assistant: Re: Four']
  t.strictSame(await talk.recalled(), recalled)
  await talk.ask('Five')
  t.strictSame(talk.talked.at(-1), [...recalled, 'user: Five'])
  t.equal((await talk.get('/v1/sessions/s1/messages')).body.data.length, 10, 'the originals stay')
  t.match(await talk.get('/v1/sessions/s1'), { body: { turns: 5 } })
  const [asked] = talk.noted
  t.equal(asked?.tools, undefined)
  t.match(
    asked?.messages.map(({ role }) => role),
    ['system', 'user']
  )
})

t.test('its usage is a run of its own, of the session’s key, and counted', async t => {
  const talk = await talking(t, { trigger: { turns: 2 }, keep_turns: 1 })
  await talk.ask('One')
  const { turnId } = await talk.ask('Two')
  await until(() => talk.compactions.length === 1)
  const [line] = talk.compactions
  t.match(line, { after: turnId, session_id: 's1', key_id: 'ann', model: 'up/notes', status: 'completed' })
  const { status, body } = await talk.get(`/v1/turns/${line?.turn_id}`)
  t.equal(status, 200)
  t.match(body, {
    ...{ kind: 'compaction', session_id: 's1', key_id: 'ann', model: 'up/notes', status: 'completed', finish: 'stop' },
    usage: { ...usage, estimated: false },
    rounds: [{ n: 1, provider: 'up', upstream_model: 'notes', attempts: [{ status: 200, outcome: 'ok' }], calls: [] }]
  })
  t.equal((await talk.get(`/v1/turns/${line?.turn_id}`, 'bob')).status, 404)
  t.equal((await talk.get(`/v1/turns/${turnId}`)).body.kind, undefined, 'a turn is none')
  t.match((await talk.get(`/v1/turns/${turnId}`)).body.usage, usage)
  t.strictSame(await talk.metric('loopgate_compactions_total'), ['loopgate_compactions_total{status="completed"} 1'])
  t.match(await talk.metric('loopgate_tokens_total'), [
    'loopgate_tokens_total{provider="up",model="talk",kind="prompt"} 80',
    'loopgate_tokens_total{provider="up",model="talk",kind="completion"} 4',
    'loopgate_tokens_total{provider="up",model="notes",kind="prompt"} 40',
    'loopgate_tokens_total{provider="up",model="notes",kind="completion"} 2'
  ])
  t.match(await talk.metric('loopgate_turns_total'), [/ 2$/], 'it is no turn of a client')
})

t.test('one that fails leaves memory as it was, and is tried again after the next turn', async t => {
  const talk = await talking(t, { trigger: { turns: 2 }, keep_turns: 1 }, (response, nth) => {
    if (nth === 1) response.writeHead(500).end('{}')
    else completed(response, 'The notes.')
  })
  await talk.ask('One')
  await talk.ask('Two')
  await until(() => talk.compactions.length === 1)
  const [line] = talk.compactions
  t.match(line, { status: 'failed', error: 'upstream_error' })
  t.match((await talk.get(`/v1/turns/${line?.turn_id}`)).body, {
    ...{ kind: 'compaction', status: 'failed', error: { code: 'upstream_error' }, http_status: null },
    rounds: [{ attempts: [{ status: 500 }] }]
  })
  t.strictSame(await talk.recalled(), ['user: One', 'assistant: Re: One', 'user: Two', 'assistant: Re: Two'])
  t.strictSame(await talk.metric('loopgate_compactions_total'), ['loopgate_compactions_total{status="failed"} 1'])
  await talk.ask('Three')
  t.equal(talk.talked.at(-1)?.length, 5)
  await until(() => talk.compactions.length === 2)
  t.strictSame(await talk.recalled(), ['system: The notes.', 'user: Three', 'assistant: Re: Three'])
})

t.test('one at a time for a session; sessions and branches do not wait for one another', async t => {
  const written = Promise.withResolvers<void>()
  const talk = await talking(t, { trigger: { turns: 2 }, keep_turns: 1 }, async (response, nth) => {
    await written.promise
    completed(response, `Notes ${nth}.`)
  })
  for (const n of [1, 2, 3, 4]) await talk.ask(`Question ${n}`)
  await until(() => talk.noted.length === 1)
  for (const n of [1, 2]) await talk.ask(`Other ${n}`, { session: 's2' })
  await until(() => talk.noted.length === 2)
  await talk.ask('Aside', { loopgate: { memory: { branch: 'left' } } })
  await until(() => talk.noted.length === 3)
  written.resolve()
  await until(() => talk.compactions.length === 3)
  t.strictSame(
    talk.compactions.map(({ status }) => status),
    ['completed', 'completed', 'completed']
  )
  t.match((await talk.recalled())[0], 'system: Notes 1.')
  t.match((await talk.recalled('s2'))[0], 'system: Notes 2.')
  t.match((await talk.get('/v1/sessions/s1?branch=left&view=recall')).body.messages[0].content, /Notes 3\.$/)
})

t.test('none where nothing was remembered', async t => {
  const talk = await talking(t, { trigger: { turns: 2 }, keep_turns: 1 })
  for (const n of [1, 2, 3]) await talk.ask(`Question ${n}`, { loopgate: { memory: 'off' } })
  await talk.ask('One')
  t.equal((await talk.ask('Wrong', { model: 'up2/none' })).status, 404)
  await sleep(200)
  t.strictSame(talk.noted, [])
})

t.test('a gateway that stops gives up what it writes, and says so', async t => {
  const talk = await talking(t, { trigger: { turns: 2 }, keep_turns: 1 }, () => {})
  await talk.ask('One')
  await talk.ask('Two')
  await until(() => talk.noted.length === 1)
  const startedAt = performance.now()
  const ended = new Promise(resolve => talk.gateway.process.once('exit', resolve))
  talk.gateway.process.kill('SIGTERM')
  t.equal(await ended, 0)
  t.ok(performance.now() - startedAt < 4000)
  t.match(talk.compactions, [{ status: 'failed', error: 'shutting_down' }])
  t.notMatch(talk.gateway.output(), /store\.error/)
})
