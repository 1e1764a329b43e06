import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/config-error.ts'
import { readConfig } from '../../src/config/read.ts'

const read = (t: Test, compaction: string, rest = '') => {
  const text = `providers: [{ name: up, kind: openai, models: [m] }]\ndefault_model: m\nmemory: { compaction: ${compaction} }\n${rest}`
  return readConfig({ cwd: t.testdir({ 'gateway.yaml': text }), env: {}, server: {} }).config
}

function problems(t: Test, ...of: [string, string?]): readonly string[] {
  try {
    read(t, ...of)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

t.test('there is no compaction unless it is configured; four turns are kept', async t => {
  t.equal(read(t, 'null').memory.compaction, undefined)
  t.strictSame(read(t, '{ model: m, trigger: { turns: 9 } }').memory.compaction, {
    ...{ model: 'm', trigger: { turns: 9 }, keep_turns: 4 }
  })
  t.strictSame(problems(t, '{ model: up/any, trigger: { tokens: 800, turns: 5 }, keep_turns: 0 }'), [])
})

t.test('a compaction that could never be made is refused at the start', async t => {
  const refused: readonly [string, string, string?][] = [
    [
      '{ model: none, trigger: { turns: 9 } }',
      'memory.compaction.model: no provider serves none; served are m and up/<model>'
    ],
    ['{ trigger: { turns: 9 } }', 'memory.compaction.model: is missing; it must be text'],
    ['{ model: m }', 'memory.compaction.trigger: is missing; it must be a mapping'],
    ['{ model: m, trigger: {} }', 'memory.compaction.trigger: must have turns, tokens or both'],
    ['{ model: m, trigger: { turns: 0 } }', 'memory.compaction.trigger.turns: must be at least 1'],
    [
      '{ model: m, trigger: { turns: 4 } }',
      'memory.compaction.trigger.turns: must be more than keep_turns (4): otherwise there is nothing to summarise'
    ],
    [
      '{ model: m, trigger: { turns: 9 } }',
      'memory.compaction: needs memory under chain.turn',
      'chain: { turn: [audit] }'
    ]
  ]
  for (const [text, message, rest] of refused) t.strictSame(problems(t, text, rest), [message], text)
})
