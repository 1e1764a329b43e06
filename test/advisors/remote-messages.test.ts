import t from 'tap'
import { loose, reunited } from '../../src/advisors/remote-messages.ts'
import type { Message } from '../../src/core/chat.ts'
import { chatShapes } from '../../src/dialects/openai-chat/shapes.ts'

const call = { id: 'c1', name: 'stock', arguments: '{}' }
const before: readonly Message[] = [
  { role: 'system', id: 'sys', content: 'Be brief.' },
  { role: 'user', id: 'q1', content: 'Hello', origin: 'client' },
  { role: 'assistant', id: 'a1', content: 'Hi', calls: [], native: { provider: 'up', blocks: ['signed'] } },
  { role: 'user', id: 'q2', content: 'How many?' },
  { role: 'assistant', id: 'a2', content: '', calls: [call], reasoning: { text: 'Look.', field: 'reasoning' } },
  { role: 'tool', id: 't1', callId: 'c1', content: '17', isError: true }
]
const sent: readonly unknown[] = JSON.parse(JSON.stringify(before.map(chatShapes.encodeMessage)))

function back(wire: readonly unknown[]): readonly Message[] {
  let fresh = 0
  const decoded = chatShapes.decodeMessages(wire, () => `new_${++fresh}`)
  return reunited({ messages: before, sent, wire, decoded })
}
const ids = (messages: readonly Message[]) => messages.map(({ id }) => id)
const changed = (at: number, content: string) => ({ ...(sent[at] as object), content })

t.test('what comes back unchanged is the very same, with all that its form has no room for', async t => {
  const now = back(JSON.parse(JSON.stringify(sent)))
  for (const [at, message] of now.entries()) t.equal(message, before[at])
})

t.test('a changed message keeps its id and whose it is, and loses what was signed for other words', async t => {
  const now = back([sent[0], changed(1, 'Hullo'), changed(2, 'Ho'), changed(3, 'How few?'), sent[4], changed(5, '18')])
  t.strictSame(ids(now), ids(before))
  t.match(now[1], { content: 'Hullo', origin: 'client' })
  t.notOk('native' in (now[2] as object))
  t.notOk('origin' in (now[3] as object), 'the question is no history')
  t.equal(now[4], before[4])
  t.match(now[5], { callId: 'c1', content: '18' })
})

t.test('messages put in get new ids, those taken out are gone, and no other id moves', async t => {
  const hint = { role: 'user', content: 'A hint.' }
  t.strictSame(ids(back([{ role: 'system', content: 'First.' }, ...sent])), ['new_1', ...ids(before)])
  t.strictSame(ids(back([sent[0], hint, ...sent.slice(1)])), ['sys', 'new_2', 'q1', 'a1', 'q2', 'a2', 't1'])
  t.strictSame(ids(back([sent[0], ...sent.slice(3)])), ['sys', 'q2', 'a2', 't1'])
  t.strictSame(ids(back([...sent, hint])), [...ids(before), 'new_7'])
  t.strictSame(ids(back([hint])), ['new_1'], 'a list of other words altogether')
  const all = ids(back([sent[3], sent[1], ...sent.slice(3)]))
  t.equal(new Set(all).size, all.length, 'no id is there twice, whatever comes twice')
})

t.test('calls without results and results without calls are found', async t => {
  t.strictSame([...loose(before)], [])
  t.strictSame([...loose(before.slice(0, 5))], ['c1'])
  t.strictSame([...loose(before.slice(5))], ['c1'])
})
