import t from 'tap'
import { Assembly } from '../../src/core/assemble.ts'
import type { AssistantMessage, Delta } from '../../src/core/chat.ts'
import { callsOfTurn, roundsOfTurn } from '../../src/core/conversation.ts'
import { matchesGlob } from '../../src/core/glob.ts'
import { ulid } from '../../src/core/ids.ts'
import { replay } from '../../src/core/replay.ts'
import { rewrite } from '../../src/core/rewrite.ts'
import { addUsage } from '../../src/core/usage.ts'
import { aTurn, listener, scripted } from '../helper/turn.ts'

t.test('usage adds every field on its own, and a detail nobody reported stays absent', async t => {
  const sum = addUsage(
    { prompt: 10, completion: 2, total: 13, cached: 4, other: { 'prompt_tokens_details.audio_tokens': 1 } },
    { prompt: 20, completion: 3, total: 23, reasoning: 2, other: { 'prompt_tokens_details.audio_tokens': 2 } }
  )
  t.strictSame(sum, {
    prompt: 30,
    completion: 5,
    total: 36,
    cached: 4,
    reasoning: 2,
    other: { 'prompt_tokens_details.audio_tokens': 3 }
  })
  t.notOk('cacheWrite' in (sum ?? {}))
  t.equal(addUsage(undefined, undefined), undefined)
  t.strictSame(addUsage(undefined, { prompt: 1, completion: 1, total: 2 }), { prompt: 1, completion: 1, total: 2 })
})

t.test('a message that is replayed and put together again is the same message', async t => {
  const message: AssistantMessage = {
    role: 'assistant',
    id: 'm',
    content: 'There are 17.',
    reasoning: { text: 'let me see', field: 'reasoning' },
    refusal: 'not that',
    extra: { annotations: [1] },
    calls: [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{"x":1}', extra: { extra_content: { google: 1 } } }
    ]
  }
  const assembly = new Assembly()
  await replay(message, delta => void assembly.add(delta) as undefined)
  t.strictSame(assembly.message('m'), message)
})

t.test('pieces of calls that come interleaved end in the order of their indexes', async t => {
  const assembly = new Assembly()
  const pieces: Delta[] = [
    { type: 'call', index: 1, id: 'b', name: 'g', arguments: '{"x"' },
    { type: 'call', index: 0, id: 'a', name: 'f', arguments: '' },
    { type: 'call', index: 1, id: 'b', name: 'g', arguments: ':1}' },
    { type: 'call', index: 0, arguments: '{}' }
  ]
  for (const piece of pieces) assembly.add(piece)
  t.strictSame(assembly.message('m').calls, [
    { id: 'a', name: 'f', arguments: '{}' },
    { id: 'b', name: 'g', arguments: '{"x":1}' }
  ])
})

t.test('rewrite changes the pieces of a stream and the text of a call alike', async t => {
  const upper = (turn: Parameters<typeof rewrite>[0], next: Parameters<typeof rewrite>[1]) =>
    rewrite(turn, next, out => ({
      write: delta => out(delta.type === 'text' ? { ...delta, text: delta.text.toUpperCase() } : delta),
      end: () => undefined
    }))
  const { emit, text } = listener()
  const streamed = await upper(aTurn({ emit }), scripted([{ text: 'seventeen' }]))
  const called = await upper(aTurn(), scripted([{ text: 'seventeen' }]))
  t.equal(text(), 'SEVENTEEN')
  t.equal(streamed.message.content, 'SEVENTEEN')
  t.strictSame(called.message, streamed.message)
  t.equal(called.messages.at(-1), called.message)
})

t.test('a glob is matched in time linear in the name, and the star stands for anything', async t => {
  t.ok(matchesGlob('stock_level', ['print_*', 'stock_*']))
  t.ok(matchesGlob('a-b-c', ['a*b*c']))
  t.notOk(matchesGlob('ab', ['ab*b']))
  t.notOk(matchesGlob('stock.level', ['stock_level']))
  t.notOk(matchesGlob('x'.repeat(50_000), [`${'*x'.repeat(200)}y`]))
})

t.test('a ULID tells its time, sorts by it, and is 26 characters of base 32', async t => {
  t.match(ulid(), /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  t.ok(ulid(1_000) < ulid(2_000))
  t.equal(ulid(1_469_918_176_385).slice(0, 10), '01ARYZ6S41')
  t.equal(new Set(Array.from({ length: 5000 }, () => ulid())).size, 5000)
})

t.test('limits count what stands after the question, and everything where it is not to be found', async t => {
  const said = (id: string, name: string): AssistantMessage => ({
    ...{ role: 'assistant', id, content: '' },
    calls: [{ id: `c_${id}`, name, arguments: '{}' }]
  })
  const messages = [said('1', 'a'), ...aTurn().prompt.messages, said('2', 'b')]
  const turn = aTurn({ prompt: { ...aTurn().prompt, messages } })
  const counts = (changes: object) => [
    callsOfTurn({ ...turn, ...changes }).map(({ name }) => name),
    roundsOfTurn({ ...turn, ...changes })
  ]
  t.strictSame(counts({}), [['b'], 1])
  t.strictSame(counts({ question: 'lost' }), [['a', 'b'], 2])
})
