import t from 'tap'
import type { Message, Tool } from '../../../src/core/chat.ts'
import type { Limits } from '../../../src/core/policy.ts'
import { limits } from '../../../src/tools/guards/limits.ts'
import { aPolicy, aTurn, toolbox } from '../../helper/turn.ts'

type Batch = readonly (readonly [name: string, text: string])[]

/** Runs the guard over the last batch and says per call whether it ran, ended the turn, or was refused. */
async function verdicts(changes: Partial<Limits>, batches: readonly Batch[], tools?: ReadonlyMap<string, Tool>) {
  let id = 0
  const messages: Message[] = batches.flatMap((batch, round): Message[] => {
    const calls = batch.map(([name, text]) => ({ id: `call_${++id}`, name, arguments: text }))
    const results = calls.map((call): Message => ({ role: 'tool', id: `r_${call.id}`, callId: call.id, content: 'x' }))
    return [{ role: 'assistant', id: `a_${round}`, content: '', calls }, ...(round < batches.length - 1 ? results : [])]
  })
  const turn = aTurn({ policy: { ...aPolicy, limits: { ...aPolicy.limits, ...changes } } })
  const at = {
    ...turn,
    prompt: {
      ...turn.prompt,
      messages: [...turn.prompt.messages, ...messages],
      tools: tools ?? toolbox({ a: async () => ({ content: '', status: 'ok' }) })
    }
  }
  const last = messages.at(-1)
  const calls = last?.role === 'assistant' ? last.calls : []
  const results = await Promise.all(
    calls.map(call => limits.guard(call, at, async () => ({ content: 'ran', status: 'ok' })))
  )
  return results.map(({ content, breach, code }) => {
    if (breach === undefined) return code ?? content
    return breach.action === 'stop' ? `${breach.hit.kind}: ${content}` : `${breach.action}: ${content}`
  })
}

const distinct = (name: string, count: number): Batch => Array.from({ length: count }, (_, n) => [name, `{"n":${n}}`])

t.test('the call beyond a per-tool limit ends the turn; those before it run, those after it do not', async t => {
  t.strictSame(await verdicts({ maxCallsPerTool: 2 }, [distinct('a', 4)]), [
    'ran',
    'ran',
    'max_calls_per_tool: Limit reached: a may be called at most 2 times in one turn.',
    'tool_limit'
  ])
})

t.test('earlier rounds of the turn count, refused calls too', async t => {
  t.strictSame(await verdicts({ maxCalls: 3 }, [distinct('a', 2), distinct('b', 1), [['c', '{}']]]), [
    'max_calls: Limit reached: at most 3 tool calls in one turn.'
  ])
})

t.test('under limit_check batch none of a batch runs that would go too far', async t => {
  t.strictSame(await verdicts({ maxCallsPerTool: 2, limitCheck: 'batch' }, [distinct('a', 3)]), [
    'tool_limit',
    'tool_limit',
    'max_calls_per_tool: Limit reached: a may be called at most 2 times in one turn.'
  ])
})

t.test('the fourth identical call ends the turn, however its arguments are spelled', async t => {
  const same: Batch = [
    ['a', '{"x":1,"y":2}'],
    ['a', '{"y":2,"x":1}'],
    ['a', ' {"x":1.0,"y":2}'],
    ['a', '{"x":1,"y":2}']
  ]
  t.strictSame(await verdicts({}, [same]), [
    'ran',
    'ran',
    'ran',
    'max_identical_calls: Limit reached: a was called with these arguments 3 times in this turn.'
  ])
})

t.test('exempt tools have no per-tool and no identical limit but count in the total', async t => {
  const same: Batch = Array.from({ length: 5 }, () => ['a', '{}'] as const)
  t.strictSame(await verdicts({ exemptTools: ['a'], maxCallsPerTool: 1 }, [same]), Array(5).fill('ran'))
  t.match((await verdicts({ exemptTools: ['a'], maxCalls: 4 }, [same])).at(-1), /^max_calls: /)
})

t.test('a model that is told: each call beyond a limit is refused for itself, the others of its batch run', async t => {
  const changes = { maxCalls: 5, perTool: { a: 1 }, onLimit: 'tell_model' } as const
  const batch: Batch = [...distinct('a', 2), ['b', '{"n":1}'], ...distinct('a', 1), ...distinct('b', 2)]
  t.strictSame(await verdicts(changes, [batch]), [
    'ran',
    'tell_model: Limit reached: a may be called at most 1 times in one turn.',
    'ran',
    'tell_model: Limit reached: a may be called at most 1 times in one turn.',
    'ran',
    'tell_model: Limit reached: at most 5 tool calls in one turn.'
  ])
  t.strictSame(await verdicts({ ...changes, onLimit: 'force_answer' }, [distinct('a', 1), distinct('a', 1)]), [
    'force_answer: Limit reached: a may be called at most 1 times in one turn.'
  ])
})

t.test('a model that is told of a batch as a whole: none of it runs, and each call says why', async t => {
  const changes = { maxCallsPerTool: 1, limitCheck: 'batch', onLimit: 'tell_model' } as const
  t.strictSame(await verdicts(changes, [[['b', '{}'], ...distinct('a', 2)]]), [
    'tool_limit',
    'tool_limit',
    'tell_model: Limit reached: a may be called at most 1 times in one turn.'
  ])
})

t.test(
  'a model that is told of identical calls and repeats one once more ends the turn, whatever is configured',
  async t => {
    const text = 'Limit reached: a was called with these arguments 3 times in this turn.'
    const once: Batch = [['a', '{}']]
    for (const onLimit of ['tell_model', 'force_answer'] as const) {
      t.strictSame(await verdicts({ onLimit }, [once, once, once, once]), [`${onLimit}: ${text}`])
      t.strictSame(await verdicts({ onLimit }, [once, once, once, once, once]), [`max_identical_calls: ${text}`])
      const exempt = { onLimit, exemptTools: ['a'] }
      t.strictSame(await verdicts(exempt, [once, once, once, once, once]), ['ran'])
      t.strictSame(await verdicts({ onLimit, perTool: { a: -1 } }, [once, once, once, once, once]), ['ran'])
    }
  }
)

t.test("the client's own calls count, but are not refused", async t => {
  const tools = toolbox({ a: async () => ({ content: '', status: 'ok' }), theirs: undefined })
  const batch: Batch = [...distinct('theirs', 3), ...distinct('a', 1)]
  t.strictSame((await verdicts({ maxCalls: 2 }, [batch], tools)).slice(2), [
    'ran',
    'max_calls: Limit reached: at most 2 tool calls in one turn.'
  ])
})

t.test('-1 switches a limit off, per tool and in all', async t => {
  t.strictSame(await verdicts({ maxCalls: -1, perTool: { a: -1 } }, [distinct('a', 200)]), Array(200).fill('ran'))
})

t.test('a tool without a limit of its own runs on after more calls than any default allows', async t => {
  const batch: Batch = [['a', '{"n":"last"}']]
  t.strictSame(await verdicts({ maxCallsPerTool: -1 }, [distinct('a', 45), batch]), ['ran'])
  t.strictSame(await verdicts({ perTool: { a: -1 } }, [distinct('a', 45), batch]), ['ran'])
  t.strictSame(await verdicts({ maxCallsPerTool: -1, maxCalls: -1 }, [distinct('a', 155), batch]), ['ran'])
  t.match(await verdicts({ maxCallsPerTool: -1 }, [distinct('a', 155), batch]), [/^max_calls: /], 'in all there is one')
})

t.test("a tool's own limits hold where the policy names none", async t => {
  const own = new Map<string, Tool>([['a', { name: 'a', kind: 'webhook', maxCallsPerTurn: 1, maxIdenticalCalls: 1 }]])
  t.match((await verdicts({}, [distinct('a', 2)], own)).at(-1), /at most 1 times/)
  t.match(
    (
      await verdicts(
        { perTool: { a: 5 } },
        [
          [
            ['a', '{}'],
            ['a', '{}']
          ]
        ],
        own
      )
    ).at(-1),
    /^max_identical_calls/
  )
})

t.test('a tool named like what every object inherits has the limits of any other', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', '__proto__']) {
    t.match((await verdicts({ maxCallsPerTool: 2 }, [distinct(name, 3)])).at(-1), /at most 2 times/, name)
    const own: Record<string, number> = Object.create(null)
    own[name] = 1
    t.match((await verdicts({ perTool: own }, [distinct(name, 2)])).at(-1), /at most 1 times/, name)
  }
})

t.test('calls of earlier turns never count', async t => {
  const turn = aTurn({ policy: { ...aPolicy, limits: { ...aPolicy.limits, maxCalls: 1 } } })
  const past: Message[] = [
    { role: 'user', id: 'past', content: 'before' },
    { role: 'assistant', id: 'p1', content: '', calls: [{ id: 'old', name: 'a', arguments: '{}' }] },
    { role: 'tool', id: 'p2', callId: 'old', content: 'x' }
  ]
  const now = { id: 'new', name: 'a', arguments: '{}' }
  const messages: Message[] = [
    ...past,
    ...turn.prompt.messages,
    { role: 'assistant', id: 'n1', content: '', calls: [now] }
  ]
  const at = { ...turn, prompt: { ...turn.prompt, messages } }
  t.match(await limits.guard(now, at, async () => ({ content: 'ran', status: 'ok' })), { content: 'ran' })
})
