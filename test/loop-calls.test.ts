import t from 'tap'
import { type LoopAnswer, loopGateway, type ModelCall, type ModelRound } from './helper/loop-gateway.ts'

// Starts processes, which takes a while on a busy machine.
t.setTimeout(180_000)

/** What a tool may answer with, and what the model must be shown of it. */
const RESULTS: readonly (readonly [body: string, shown: string, type?: string])[] = [
  ['{"a":[1,{"b":null}],"c":"ü \\"q\\""}', '{"a":[1,{"b":null}],"c":"ü \\"q\\""}'],
  ['[1,2,3]', '[1,2,3]'],
  ['{}', '{}'],
  ['[]', '[]'],
  ['42', '42'],
  ['true', 'true'],
  ['null', 'null'],
  ['"with \\"quotes\\" and \\n a line"', '"with \\"quotes\\" and \\n a line"'],
  ['plain text, not JSON', 'plain text, not JSON', 'text/plain'],
  ['', '(no content)']
]
const gateway = await loopGateway({
  a: { answer: parameters => ({ body: JSON.stringify({ of: 'a', ...parameters }) }) },
  b: { answer: parameters => ({ body: JSON.stringify({ of: 'b', ...parameters }) }) },
  says: {
    answer: ({ n }) => ({ body: RESULTS[n]?.[0] ?? '', ...(RESULTS[n]?.[2] && { type: RESULTS[n][2] }) })
  },
  knows: {
    definition: { context: { allow: ['customer'] } },
    answer: (_parameters, body) => ({ body: JSON.stringify(body.data.context ?? 'nothing') })
  },
  asked: {
    definition: {
      context: { allow: ['customer'] },
      augment: [
        { name: 'thought', description: 'Why this is called', required: true },
        { name: 'mood', forward: true }
      ]
    },
    answer: (parameters, body) => ({ body: JSON.stringify([parameters, body.data.context]) })
  },
  strict: {
    definition: {
      input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    },
    answer: () => ({ body: '"ok"' })
  },
  final: { definition: { return_direct: true }, answer: () => ({ body: '{"n":1}' }) },
  fails: { answer: () => ({ status: 422, body: '{"error":{"message":"The article BX-1 is not known."}}' }) },
  fails_silently: { answer: () => ({ status: 422 }) }
})
t.teardown(() => gateway.stop())

/** Results of tools that the model was shown in its last round, by call id. */
function results({ requests }: LoopAnswer): string[] {
  const tools = requests.at(-1).messages.filter(({ role }: { role: string }) => role === 'tool')
  return tools.map((each: Record<string, string>) => `${each.tool_call_id}: ${each.content}`)
}

const many = (count: number, name: string): ModelCall[] =>
  Array.from({ length: count }, (_, n) => [name, { n }, `${name}_${n}`] as const)

t.test('results stand in call order under the id and in the shape of their calls', async t => {
  const calls: ModelCall[] = [
    ['a', { x: 1 }, 'c1'],
    ['b', { y: { z: ['ä', { deep: [1.5, null, true] }] } }, 'c2'],
    ['a', {}, 'c3']
  ]
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }])) {
    t.strictSame(results(answer), [
      'c1: {"of":"a","x":1}',
      'c2: {"of":"b","y":{"z":["ä",{"deep":[1.5,null,true]}]}}',
      'c3: {"of":"a"}'
    ])
    t.equal(answer.called.length, 3)
  }
})

t.test('arguments that are empty or blank are an empty object', async t => {
  const calls = ['', '  ', 'null', '{}'].map((text, n) => ['a', text, `c${n}`] as const)
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }], {
    body: { loopgate: { limits: { max_calls: 4 } } }
  })) {
    t.strictSame(answer.called.slice(0, 3), Array(3).fill('a {}'))
  }
})

t.test('a tool that needs the context of the request gets it, the one beside it does not', async t => {
  const calls: ModelCall[] = [
    ['a', { x: 1 }, 'c1'],
    ['knows', {}, 'c2']
  ]
  const body = { loopgate: { context: { customer: 'c-17', secret: 'no' } } }
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }], { body })) {
    t.strictSame(results(answer), ['c1: {"of":"a","x":1}', 'c2: {"customer":"c-17"}'])
  }
})

t.test('a tool that is asked more of gets the context it is granted, and of the rest what is forwarded', async t => {
  const calls: ModelCall[] = [['asked', { sku: 'x', thought: 'hm', mood: 'good' }, 'c1']]
  const body = { loopgate: { context: { customer: 'c-17' } } }
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }], { body })) {
    t.strictSame(results(answer), ['c1: [{"sku":"x","mood":"good"},{"customer":"c-17"}]'])
    t.strictSame(answer.loopgate.round_list[0].calls[0].augmented, { thought: 'hm', mood: 'good' })
  }
})

t.test('results of every kind reach the model as the tool gave them', async t => {
  const calls = RESULTS.map((_, n) => ['says', { n }, `c${n}`] as const)
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }])) {
    t.strictSame(
      results(answer),
      RESULTS.map(([, shown], n) => `c${n}: ${shown}`)
    )
  }
})

t.test(
  'a tool that fails is told to the model with its reason, those beside it have run, the turn goes on',
  async t => {
    const calls: ModelCall[] = [
      ['fails', {}, 'c1'],
      ['fails_silently', {}, 'c2'],
      ['a', { x: 1 }, 'c3']
    ]
    for (const answer of await gateway.both([{ calls }, { text: 'I am sorry.' }])) {
      const [why, silent, ran] = results(answer)
      t.match(why, /^c1: .*The article BX-1 is not known\./)
      t.match(silent, /^c2: .*fails_silently/, 'without a reason the tool is named')
      t.equal(ran, 'c3: {"of":"a","x":1}')
      t.equal(answer.content, 'I am sorry.')
      t.match(
        answer.loopgate.round_list[0].calls
          .map(({ tool, status }: Record<string, string>) => `${tool} ${status}`)
          .toSorted(),
        ['a ok', 'fails error', 'fails_silently error']
      )
    }
  }
)

t.test('a tool that is not there, and arguments that do not fit, are told to the model and nothing runs', async t => {
  const calls: ModelCall[] = [
    ['a', { x: 1 }, 'c1'],
    ['nowhere', {}, 'c2'],
    ['strict', { n: 'one' }, 'c3'],
    ['strict', '{"n":', 'c4']
  ]
  for (const answer of await gateway.both([{ calls }, { text: 'ok' }])) {
    t.strictSame(answer.called, ['a {"x":1}'])
    const [ran, unknown, wrong, broken] = results(answer)
    t.equal(ran, 'c1: {"of":"a","x":1}')
    t.match(unknown, /^c2: There is no tool named nowhere\. Available: a, b, /)
    t.match(wrong, /^c3: .*n.*integer/, 'the place and the rule')
    t.match(broken, /^c4: .*JSON/)
    t.equal(answer.content, 'ok')
  }
})

t.test('of several batches only the results of the last are the answer, when that is returned directly', async t => {
  const rounds: ModelRound[] = [{ calls: [['a', { x: 1 }]] }, { calls: [['final']] }, { text: 'never' }]
  for (const answer of await gateway.both(rounds)) {
    t.equal(answer.content, '{"n":1}')
    t.strictSame(answer.finish, ['stop'])
    t.equal(answer.requests.length, 2)
    t.equal(answer.called.length, 2)
  }
})

t.test('of several answers of the model the first counts, and calls of the others are not run', async t => {
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'Seventeen.' }, finish_reason: 'stop' },
    {
      index: 1,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'a' } }]
      },
      finish_reason: 'tool_calls'
    }
  ]
  const answer = await gateway.ask([{ raw: { id: 'up', choices } }])
  t.equal(answer.content, 'Seventeen.')
  t.strictSame(answer.called, [])
  const turned = [
    { ...choices[1], index: 0 },
    { ...choices[0], index: 1 }
  ]
  const called = await gateway.ask([{ raw: { id: 'up', choices: turned } }, { text: 'ok' }])
  t.equal(called.content, 'ok')
  t.strictSame(called.called, ['a {}'])
})

t.test('a limit on a tool ends the turn with a text that names it, and what ran is handed over', async t => {
  const body = { loopgate: { limits: { per_tool: { a: 1 } } } }
  const rounds: ModelRound[] = [{ calls: [...many(2, 'a'), ['b', {}, 'later']], usage: [1, 2, 3] }, { text: 'never' }]
  for (const answer of await gateway.both(rounds, { body })) {
    t.equal(answer.content, 'Limit reached: a may be called at most 1 times in one turn.')
    t.strictSame(answer.finish, ['length'])
    t.strictSame(answer.called, ['a {"n":0}'], 'what follows the breach does not run')
    t.equal(answer.requests.length, 1, 'the model is not asked again')
    t.match(answer.loopgate, {
      finish: 'tool_call_limit',
      limit: { kind: 'max_calls_per_tool', tool: 'a', max: 1 },
      partial_results: [{ id: 'a_0', name: 'a', content: '{"of":"a","n":0}' }]
    })
    t.equal(answer.loopgate.partial_results.length, 1)
    t.match(answer.usage, [{ total_tokens: 3 }])
  }
})

t.test('calls of earlier rounds of the turn count towards a limit, calls of other tools do not', async t => {
  const body = { loopgate: { limits: { per_tool: { a: 1 } } } }
  const rounds: ModelRound[] = [
    { calls: [['a', { n: 1 }]] },
    { calls: [['b', { n: 2 }]] },
    { calls: [['b', { n: 3 }]] },
    { calls: [['a', { n: 4 }]] }
  ]
  for (const answer of await gateway.both(rounds, { body })) {
    t.strictSame(answer.called, ['a {"n":1}', 'b {"n":2}', 'b {"n":3}'])
    t.match(answer.loopgate.limit, { kind: 'max_calls_per_tool', tool: 'a', max: 1 })
  }
})

t.test('a limit on all calls ends the turn whatever the tool, and names none', async t => {
  const body = { loopgate: { limits: { max_calls: 2 } } }
  const calls: ModelCall[] = [
    ['a', {}, 'c1'],
    ['b', {}, 'c2'],
    ['says', { n: 0 }, 'c3']
  ]
  for (const answer of await gateway.both([{ calls }], { body })) {
    t.equal(answer.content, 'Limit reached: at most 2 tool calls in one turn.')
    t.strictSame(answer.called.toSorted(), ['a {}', 'b {}'])
    t.strictSame(answer.loopgate.limit, { kind: 'max_calls', max: 2 })
    t.equal(answer.loopgate.partial_results.length, 2)
  }
})

t.test('without any setting a tool may be called 40 times in a turn and all tools together 150 times', async t => {
  const loops = (round: (n: number) => readonly ModelCall[], count: number) =>
    Array.from({ length: count }, (_, n): ModelRound => ({ calls: round(n) }))
  const forty = await gateway.ask(loops(n => many(20, 'a').map(([name], m) => [name, { n, m }]), 3))
  t.equal(forty.called.length, 40)
  t.match(forty.loopgate.limit, { kind: 'max_calls_per_tool', tool: 'a', max: 40 })
  const names = ['a', 'b', 'says', 'knows', 'strict']
  const all = await gateway.ask(
    loops(round => names.flatMap(name => Array.from({ length: 8 }, (_, m) => [name, { n: round * 8 + m }] as const)), 4)
  )
  t.equal(all.called.length, 150)
  t.strictSame(all.loopgate.limit, { kind: 'max_calls', max: 150 })
})

t.test('calls of an earlier turn of the session count in no later one', async t => {
  const body = { session_id: 'limits', loopgate: { limits: { max_calls: 2 }, memory: { recall: 'all' } } }
  for (const stream of [false, true, false]) {
    const answer = await gateway.ask([{ calls: many(2, 'a') }, { text: 'ok' }], stream, { body })
    t.equal(answer.content, 'ok')
    t.equal(answer.called.length, 2)
  }
})
