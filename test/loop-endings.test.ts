import t from 'tap'
import { loopGateway, type ModelCall, type Question } from './helper/loop-gateway.ts'

// Starts a process, which takes a while on a busy machine.
t.setTimeout(180_000)

const ENVELOPE = 'application/vnd.loopgate.tool-result+json'
const gateway = await loopGateway(
  {
    stock: { definition: { return_direct: true }, answer: () => ({ body: '{ "units": 17 }' }) },
    print: { definition: { return_direct: true }, answer: () => ({ body: '"printed"' }) },
    closed: {
      definition: { return_direct: true },
      answer: () => ({ status: 422, body: '{"error":{"message":"warehouse closed"}}' })
    },
    silent: { definition: { return_direct: true }, answer: () => ({ status: 204 }) },
    shy: {
      definition: { return_direct: true },
      answer: () => ({ body: '{"structured":{"units":17},"return_direct":false}', type: ENVELOPE })
    },
    bold: { answer: () => ({ body: '{"structured":{"units":17},"return_direct":true}', type: ENVELOPE }) },
    plain: { answer: () => ({ body: '{"units":18}' }) },
    locked: { answer: () => ({ status: 401 }) }
  },
  { loop: { fail_turn_on: ['tool_auth_*'], eligible_finish: ['tool_calls', 'STOP', 'length'] } }
)
t.teardown(() => gateway.stop())

const usage = [40, 10, 50] as const

const limited = (limits: object): Question => ({ body: { loopgate: { limits } } })
const one = (name: string, parameters: object = {}): readonly ModelCall[] => [[name, parameters]]

t.test('results of return-direct tools are the answer, without another round', async t => {
  const batches: readonly [ModelCall[], string][] = [
    [[['stock']], '{"units":17}'],
    [[['stock'], ['silent'], ['print']], '{"units":17}\n\n"printed"'],
    [[['closed']], 'warehouse closed'],
    [[['silent']], '']
  ]
  for (const [calls, content] of batches) {
    for (const answer of await gateway.both([{ calls, usage }, { text: 'never asked for' }])) {
      t.match(answer, { status: 200, content, finish: ['stop'] })
      t.match(answer.usage, [{ prompt_tokens: 40, total_tokens: 50 }])
      t.equal(answer.requests.length, 1)
      t.equal(answer.loopgate.finish, 'return_direct')
      t.strictSame(
        answer.loopgate.direct,
        calls.map(([name], n) => ({ id: `call_${name}_${n}`, name }))
      )
      t.strictSame(answer.calls, [])
    }
  }
})

t.test('what a stream shows of a return-direct tool is one piece of text, after what the model said', async t => {
  const answer = await gateway.ask([{ text: 'One moment.', calls: [['stock']] }], true)
  t.strictSame(answer.pieces, ['One moment.', '\n\n', '{"units":17}'])
})

t.test('only a registration grants it, only for a whole batch, and an endpoint can decline', async t => {
  for (const calls of [one('shy'), one('bold'), [['stock'], ['plain']], [['stock'], ['nope']]] as ModelCall[][]) {
    for (const answer of await gateway.both([{ calls }, { text: 'There are 17.' }])) {
      t.match(answer, { content: 'There are 17.', finish: ['stop'], loopgate: { finish: 'stop', direct: undefined } })
      t.equal(answer.requests.length, 2)
    }
  }
})

t.test('memory keeps a result that was the answer so that any model takes it', async t => {
  for (const [recall, roles] of [
    ['answers', ['user', 'assistant', 'user']],
    ['all', ['user', 'assistant', 'tool', 'assistant', 'user']]
  ] as const) {
    for (const stream of [false, true]) {
      const body = { session_id: `direct-${recall}-${stream}`, loopgate: { memory: { recall } } }
      await gateway.ask([{ calls: one('stock') }], stream, { body })
      const { requests } = await gateway.ask([{ text: 'Still 17.' }], stream, { body })
      const { messages } = requests[0]
      t.strictSame(
        messages.map(({ role }: { role: string }) => role),
        roles
      )
      t.equal(messages.at(-2).content, '{"units":17}')
    }
  }
})

t.test('a code of loop.fail_turn_on fails the turn; results of other calls are in the run view', async t => {
  for (const answer of await gateway.both([{ calls: [['plain'], ['locked']] }, { text: 'never asked for' }])) {
    t.match(answer, { status: 502, error: { code: 'tool_failed', reason: 'tool_auth_failed' } })
    t.equal(answer.headers.get('x-should-retry'), 'false')
    t.equal(answer.requests.length, 1)
    const response = await fetch(`${gateway.url}/v1/turns/${answer.headers.get('x-loopgate-turn-id')}`)
    t.match(await response.json(), {
      status: 'failed',
      rounds: [
        {
          calls: [
            { tool: 'plain', status: 'ok' },
            { tool: 'locked', code: 'tool_auth_failed' }
          ]
        }
      ]
    })
  }
  for (const answer of await gateway.both([{ calls: one('closed') }])) t.equal(answer.status, 200, 'other codes do not')
})

t.test('under a list of finish reasons calls with another are not run, and cut ones never', async t => {
  const calls = one('plain')
  for (const finish of ['tool_calls', 'stop']) {
    for (const answer of await gateway.both([{ text: 'Wait.', calls, finish }, { text: 'So.' }])) {
      t.strictSame(answer.called, ['plain {}'], finish)
    }
  }
  for (const [finish, told] of [
    ['function_call', 'stop'],
    ['length', 'length']
  ] as const) {
    for (const answer of await gateway.both([{ text: 'Wait.', calls, finish }, { text: 'So.' }])) {
      t.match(answer, { content: 'Wait.', finish: [told], called: [], calls: [] }, finish)
      t.strictSame(answer.loopgate.notes, finish === 'length' ? [] : ['not_run:plain'])
    }
  }
})

t.test('on_limit of a request: the model is told, and goes on', async t => {
  const rounds = [
    { calls: [['plain', { n: 1 }, 'c1'] as const, ['plain', { n: 2 }, 'c2'] as const] },
    { text: 'I stop.' }
  ]
  for (const answer of await gateway.both(rounds, limited({ per_tool: { plain: 1 }, on_limit: 'tell_model' }))) {
    t.match(answer, { status: 200, content: 'I stop.', finish: ['stop'], called: { length: 1 } })
    t.equal(answer.loopgate.limit, undefined)
    t.match(answer.requests[1].messages.slice(-2), [
      { tool_call_id: 'c1', content: '{"units":18}' },
      { tool_call_id: 'c2', content: 'Limit reached: plain may be called at most 1 times in one turn.' }
    ])
    t.match(answer.loopgate.round_list[0].calls[1], { status: 'refused', code: 'tool_limit' })
    t.equal(answer.loopgate.tool_calls, 1)
  }
})

t.test('on_limit of a request: the model must answer, with the same tools and no choice of them', async t => {
  const rounds = [{ calls: one('plain', { n: 1 }) }, { calls: one('plain', { n: 2 }) }, { text: 'There is one.' }]
  const limits = { per_tool: { plain: 1 }, on_limit: 'force_answer' }
  const limit = { kind: 'max_calls_per_tool', tool: 'plain', max: 1 }
  // Nothing is included on request: the report comes of itself.
  for (const answer of await gateway.both(rounds, {
    body: { loopgate: { limits, include: [] }, tool_choice: 'required' }
  })) {
    t.match(answer, { status: 200, content: 'There is one.', finish: ['stop'], loopgate: { finish: 'stop', limit } })
    const [first, second, last] = answer.requests
    t.equal(first.tool_choice, 'required')
    t.equal(second.tool_choice, undefined)
    t.equal(last.tool_choice, 'none')
    t.strictSame(last.tools, first.tools)
    const response = await fetch(`${gateway.url}/v1/turns/${answer.headers.get('x-loopgate-turn-id')}`)
    t.match(await response.json(), { status: 'completed', rounds: { length: 3 } })
  }
})

t.test('what the gateway did of limits is counted by what it did', async t => {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  for (const action of ['tell_model', 'force_answer']) {
    t.match(metrics, new RegExp(`limit_hits_total\\{[^}]*action="${action}"[^}]*\\} 2`), action)
  }
})
