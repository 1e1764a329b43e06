import t from 'tap'
import { memory } from '../../src/advisors/memory.ts'
import { recallView } from '../../src/advisors/memory-recall.ts'
import type { Turn } from '../../src/core/turn.ts'
import { laws } from '../../src/laws/laws.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { aConversation, screen } from '../helper/conversation.ts'
import { aPolicy, aTurn, scripted } from '../helper/turn.ts'

t.test('a turn that is asked twice by an advisor outside does not remember itself, and is kept once', async t => {
  const { stores, policy } = await aConversation(t)
  const { advise } = memory({ store: stores.sessions })
  const model = scripted([{ text: 'Once.' }, { text: 'Twice.' }])
  const turn = aTurn({ policy: { ...aPolicy, memory: policy } })
  await advise(turn, model)
  await advise(turn, model)
  t.equal(model.seen[1]?.prompt.messages.length, 1)
  const kept = await stores.sessions.turns('session-key-1', ['completed'], 9)
  t.match(kept, [{ messages: [{ role: 'user' }, { content: 'Twice.' }] }])
  t.equal(kept.length, 1)
})

t.test('memory holds no id twice, whatever ids an advisor gives', async t => {
  const { stores, policy } = await aConversation(t)
  const { advise } = memory({ store: stores.sessions })
  for (const id of ['turn_1', 'turn_2']) {
    const question = { role: 'user' as const, id: `${id}_q`, content: 'Hi' }
    const base = aTurn({ id, question: question.id, policy: { ...aPolicy, memory: policy } })
    await advise({ ...base, prompt: { ...base.prompt, messages: [question] } }, scripted([{ text: `Answer of ${id}` }]))
  }
  const { data } = await stores.sessions.messages('session-key-1', { limit: 9 })
  t.equal(new Set(data.map(({ message }) => message.id)).size, 4)
  const recalled = await recallView(stores.sessions, 'session-key-1', policy)
  t.match(recalled[3], { content: 'Answer of turn_2' }, 'and the answer is still known as such')
})

t.test('a call that never got a result is not kept, nor a result without its call', async t => {
  const talk = await aConversation(t, { recall: 'all' })
  await talk.ask(
    [{ user: 'Go on' }, { assistant: 'I look.', calls: [screen('lost')] }, { tool: 'blue', of: 'other' }],
    [{ text: 'Done.' }]
  )
  t.strictSame(await talk.kept(), [['turn_1', 'completed', ['user: Go on', 'assistant: I look.', 'assistant: Done.']]])
})

t.test('memory keeps the laws in 300 random chains, and what it holds is whole', async t => {
  const stores = await openSqlite({ path: ':memory:', synchronous: 'normal' })
  t.teardown(() => stores.close())
  let sessions = 0
  const create = () => {
    const { advise } = memory({ store: stores.sessions })
    const key = `session-${sessions++}`
    return {
      name: 'memory',
      advise: (turn: Turn, next: Parameters<typeof advise>[1]) =>
        advise({ ...turn, session: { ...turn.session, key } }, next)
    }
  }
  t.equal(await laws({ name: 'memory', places: ['turn'], create }, { chains: 300 }), undefined)

  const wrong: string[] = []
  for (let n = 0; n < sessions; n++) {
    const { data } = await stores.sessions.messages(`session-${n}`, { limit: 1000 })
    const messages = data.map(({ message }) => message)
    if (new Set(messages.map(({ id }) => id)).size < messages.length) wrong.push(`session-${n} holds an id twice`)
    const recalled = await recallView(stores.sessions, `session-${n}`, { recall: 'all', window: {} })
    const calls = recalled.flatMap(each => (each.role === 'assistant' ? each.calls.map(({ id }) => id) : []))
    const results = recalled.flatMap(each => (each.role === 'tool' ? [each.callId] : []))
    if (calls.join() !== results.join()) wrong.push(`session-${n}: calls ${calls}, results ${results}`)
  }
  t.ok(sessions >= 600)
  t.strictSame(wrong, [])
})
