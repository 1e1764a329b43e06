import t from 'tap'
import { headersOf, talking } from './helper/talk.ts'

// Whole processes, on a machine that may be busy with others.
t.setTimeout(120_000)

t.test('branches: each recalls its own turns and those of the session from before it was opened', async t => {
  const tool = (name: string, description: string) => ({
    ...{ name, description, input_schema: { type: 'object' } },
    endpoint: { url: 'http://127.0.0.1:9/', egress_policy: 'internal' }
  })
  const tools = [
    tool('paint_wall', 'Paints a wall'),
    tool('mow_lawn', 'Mows the lawn'),
    tool('fly_kite', 'Flies a kite')
  ]
  const talk = await talking(t, { trigger: { turns: 99 } }, undefined, { tools, tool_search: { mode: 'on' } })
  const on = (branch: string) => ({ loopgate: { memory: { branch } } })
  await talk.ask('Find kite')
  await talk.ask('One')
  await talk.ask('Left 1', on('left'))
  await talk.ask('Find lawn', on('left'))
  await talk.ask('Two')
  await talk.ask('Right 1', on('right'))
  await talk.ask('Find wall', on('right'))

  const said = async (question: string, more: Record<string, unknown> = {}) => {
    await talk.ask(question, more)
    const [questions = []] = [
      talk.talked
        .at(-1)
        ?.filter(line => line.startsWith('user: '))
        .map(line => line.slice(6))
    ]
    return { questions, offered: talk.offered.slice(1) }
  }
  t.strictSame(await said('?', on('left')), {
    questions: ['Find kite', 'One', 'Left 1', 'Find lawn', '?'],
    offered: ['fly_kite', 'mow_lawn']
  })
  t.strictSame(await said('?', on('right')), {
    questions: ['Find kite', 'One', 'Two', 'Right 1', 'Find wall', '?'],
    offered: ['fly_kite', 'paint_wall']
  })
  t.strictSame(await said('?'), { questions: ['Find kite', 'One', 'Two', '?'], offered: ['fly_kite'] })
  t.match((await talk.get('/v1/sessions/s1')).body, { turns: 4, branches: ['left', 'right'], revealed: ['fly_kite'] })
  t.match(await talk.metric('loopgate_tool_views '), ['loopgate_tool_views 3'], 'a view for each')
  t.equal((await talk.get('/v1/sessions/s1?branch=left', 'bob')).status, 404)
  await talk.ask('Mine', { key: 'bob', ...on('left') })
  t.strictSame(
    talk.talked.at(-1)?.slice(1),
    ['user: Mine'],
    'another key has another session of the name, and other branches'
  )

  const gone = await fetch(`${talk.gateway.url}/v1/sessions/s1`, { method: 'DELETE', headers: headersOf('ann') })
  t.equal(gone.status, 204)
  t.strictSame(await said('?', on('left')), { questions: ['?'], offered: [] })
})
