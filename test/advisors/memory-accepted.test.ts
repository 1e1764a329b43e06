import t, { type Test } from 'tap'
import type { Message } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { MemoryPolicy } from '../../src/core/policy.ts'
import { textOf } from '../../src/core/text.ts'
import { aConversation, Conversation, stock } from '../helper/conversation.ts'
import { aPolicy, type Scripted } from '../helper/turn.ts'

/** What the strictest of providers would say against these messages. */
function complaints(messages: readonly Message[]): string[] {
  const wrong: string[] = []
  const calls = messages.flatMap(each => (each.role === 'assistant' ? each.calls.map(({ id }) => id) : []))
  if (new Set(calls).size < calls.length) wrong.push(`a call id twice: ${calls}`)
  let open: string[] = []
  let previous: Message | undefined
  for (const message of messages) {
    if (message.role === 'tool') {
      if (open.shift() !== message.callId) wrong.push(`the result of ${message.callId} is not expected here`)
    } else if (open.length > 0) wrong.push(`${open} have no result`)
    if (message.role === 'user' && previous?.role === 'user') wrong.push(`two questions: ${previous.content}`)
    if (message.role === 'assistant') {
      open = message.calls.map(({ id }) => id)
      if (open.length === 0 && textOf(message.content).trim() === '') wrong.push('an answer without content')
      if (previous === undefined || previous.role === 'system') wrong.push('an answer to nothing')
    }
    previous = message
  }
  return wrong
}

/** Rounds that end a turn in each of the ways there are. */
const ENDINGS: Readonly<Record<string, (n: number) => readonly Scripted[]>> = {
  answered: n => [{ text: `Answer ${n}` }],
  'answered by tools': n => [{ text: 'I look.', calls: [stock(`a${n}`), stock(`b${n}`)] }, { text: `Answer ${n}` }],
  'answered, with an id that was there': n => [{ calls: [stock('same')] }, { text: `Answer ${n}` }],
  'cut in its text': n => [{ calls: [stock(`c${n}`)] }, { text: 'As far as', finish: 'length' }],
  'cut in its calls': n => [{ calls: [stock(`d${n}`)], finish: 'length' }],
  'cut in its calls, after text': n => [{ text: 'I look.', calls: [stock(`e${n}`)], finish: 'length' }],
  filtered: () => [{ finish: 'content_filter' }],
  'answered with nothing': () => [{ text: '' }],
  'answered with nothing after a call': n => [{ calls: [stock(`f${n}`)] }, { text: ' \n' }],
  limited: n => [{ calls: [1, 2, 3, 4].map(each => stock(`g${n}_${each}`, `BX-${each}`)) }],
  failed: () => [{ error: new GatewayError('upstream_disconnected', 'It broke.') }],
  'failed in its text': () => [
    { text: 'One two', error: new GatewayError('upstream_timeout', 'Late.'), errorAfter: 3 }
  ],
  'failed after a call': n => [{ calls: [stock(`h${n}`)] }, { error: new GatewayError('upstream_error', 'It broke.') }],
  'left by its client': n => [{ calls: [stock(`i${n}`)] }, { error: new GatewayError('client_closed', 'Gone.') }]
}
const names = Object.keys(ENDINGS)

const policyOf = (talk: Conversation) => ({
  policy: { ...aPolicy, memory: talk.policy, limits: { ...aPolicy.limits, maxCallsPerTool: 2 } }
})

async function play(talk: Conversation, name: string, n: number): Promise<void> {
  const script = ENDINGS[name]?.(n) ?? []
  await talk.ask(`Question ${n}`, script, policyOf(talk)).catch(() => {})
}

t.test('however a turn ended, the next one has messages that any provider accepts', async t => {
  for (const recall of ['answers', 'all'] as const) {
    for (const name of names) {
      const talk = await aConversation(t, { recall })
      await talk.ask('Before', [{ text: 'Yes.' }])
      await play(talk, name, 1)
      await talk.ask('After', [{ text: 'Yes.' }])
      t.strictSame(complaints(talk.lastTurn?.prompt.messages ?? []), [], `${name}, recall ${recall}`)
      t.equal(talk.seen[0]?.at(-1), 'user: After')
    }
  }
})

t.test('an answer without content, and a question to which nothing else came, are kept and not recalled', async t => {
  const talk = await aConversation(t)
  await play(talk, 'answered with nothing', 1)
  await play(talk, 'cut in its calls', 2)
  await play(talk, 'answered with nothing after a call', 3)
  t.strictSame(await talk.remembered(), [])
  t.strictSame(
    (await talk.kept()).map(([, status]) => status),
    ['completed', 'completed', 'completed']
  )
  const all = new Conversation(talk.stores, { recall: 'all' })
  t.strictSame(await all.remembered(), ['user: Question 3', 'assistant: <f3 stock>', 'result f3: {"of":"BX-1"}'])
})

const WINDOWS: readonly MemoryPolicy['window'][] = [
  {},
  { maxTurns: 1 },
  { maxTurns: 3 },
  { maxMessages: 1 },
  { maxMessages: 5 },
  { maxTokens: 1 },
  { maxTokens: 25 },
  { maxTurns: 4, maxMessages: 7, maxTokens: 60 }
]

t.test('no window parts a call from its result, cuts a turn or takes a bound for the open one', async t => {
  const talk = await mixed(t, 60)
  for (const recall of ['answers', 'all'] as const) {
    for (const window of WINDOWS) {
      const title = `recall ${recall}, ${JSON.stringify(window)}`
      const windowed = new Conversation(talk.stores, { recall, window })
      const past = await windowed.remembered()
      const calls = [1, 2, 3, 4, 5].map(n => ({ calls: [stock(`${title} ${n}`, `BX-${n}`)] }))
      const policy = { ...aPolicy, memory: windowed.policy }
      await windowed.ask('Now', [...calls, { text: 'Done.' }], { id: `turn_of_${title}`, policy })
      const messages = windowed.lastTurn?.prompt.messages ?? []
      t.strictSame(complaints(messages), [], title)
      t.strictSame(windowed.seen.at(-1)?.slice(0, past.length), past, 'what it recalls is what it was to recall')
      t.equal(messages.length, past.length + 11, 'and all of its own')
      const turns = past.filter(line => line.startsWith('user:')).length
      t.ok(turns >= 1 && turns <= (window.maxTurns ?? Infinity), `${title}: ${turns} turns`)
      if (turns > 1) t.ok(past.length <= (window.maxMessages ?? Infinity), `${title}: ${past.length} messages`)
    }
  }
})

/** A session of so many turns, each with the next of a few endings. */
async function mixed(t: Test, turns: number): Promise<Conversation> {
  const talk = await aConversation(t)
  for (let n = 0; n < turns; n++) await play(talk, names[(n * 5) % names.length] ?? '', n)
  return talk
}
