import t from 'tap'
import { falsifiedLoop, uncompared } from '../src/cases/loop/falsified.ts'
import { judgeLoop } from '../src/cases/loop/judge.ts'
import type { LoopObservation, ReplySaw, TurnSaw } from '../src/cases/loop/observation.ts'
import { loopCase } from '../src/cases/loop/read.ts'

const completion = (content: string | null, calls: readonly object[] = []) => ({
  id: 'x',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) },
      finish_reason: 'stop'
    }
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
})
const call = (id: string, text = '{"a":1}') => ({ id, type: 'function', function: { name: 'f', arguments: text } })
const short = (id: string, text = '{"a":1}') => ({ id, name: 'f', arguments: text })

const reply: ReplySaw = {
  status: 200,
  isStream: false,
  content: 'Done.',
  pieces: [],
  finish: 'stop',
  calls: [],
  usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 }
}
const asked = [{ role: 'user', content: 'hi' }]
const sent = [
  ...asked,
  { role: 'assistant', content: null, tool_calls: [call('c1')] },
  { role: 'tool', tool_call_id: 'c1', content: '7' }
]
const tool = { name: 'f', properties: ['a'], required: ['a'] }
const turnSaw: TurnSaw = {
  requests: [
    { messages: asked, tools: [tool] },
    { messages: sent, tools: [tool] }
  ],
  executed: [{ name: 'f', arguments: { a: 1 } }],
  replies: [reply],
  run: {
    status: 'completed',
    usage: { total_tokens: 4 },
    http_status: 200,
    rounds: [{ calls: [{ tool: 'f', augmented: { why: 'x' } }] }]
  },
  memory: sent,
  index: { builds: 1, searches: 2, view_evictions: 0 }
}
const seen = (turn: Partial<TurnSaw> = {}): LoopObservation => ({
  start: 'ok',
  requestsCount: 2,
  turns: [{ ...turnSaw, ...turn }]
})

const fixture = {
  adopt: 'differ',
  config: { sessionId: 's', memory: { placement: 'inside' }, entity: 'prompt' },
  turns: [
    { user: 'hi', modelScript: [completion('Let me see.', [call('c1')]), completion('Done.')], toolResults: { f: [7] } }
  ]
}
const caseOf = (expect: object, more: object = {}, mode: 'recorded' | 'call' | 'stream' = 'recorded') =>
  loopCase(
    '1',
    { fixture: { ...fixture, ...more }, overlay: { adopt: 'differ', expect: { turns: [expect] } } },
    [],
    mode
  )
const judged = (expect: object, turn: Partial<TurnSaw> = {}) => judgeLoop(caseOf(expect), seen(turn)).length

t.test('every field of a turn passes what it says and fails anything else', async t => {
  const error = { message: 'm', type: 't', param: null, code: 'session_required' }
  const failed = { ...reply, status: 400, error, shouldRetry: 'false' }
  const report = {
    finish: 'tool_call_limit',
    limit: { kind: 'k', max: 2 },
    partial_results: [{ id: 'c1', content: '{"u": 1}' }],
    more: 1
  }
  const request = { messages: sent, tools: ['f'] }
  const pairs: [object, object, Partial<TurnSaw>?][] = [
    [{ status: 200 }, { status: 400 }],
    [{ requests_count: 2 }, { requests_count: 1 }],
    [{ requests: [{ messages: asked }, request] }, { requests: [{ messages: asked }] }],
    [
      { requests: [{ tools: { first: 'f', count: 1, includes: ['f'] } }, {}] },
      { requests: [{ tools: { count: 2 } }, {}] }
    ],
    [{ requests: [{ tool_choice: { equals_or_absent: 'auto' } }, {}] }, { requests: [{ tool_choice: 'auto' }, {}] }],
    [
      { requests: [{ tool_schemas: { f: { properties: ['a'], required: ['a'] } } }, {}] },
      { requests: [{ tool_schemas: { f: { properties: ['a'], required: [] } } }, {}] }
    ],
    [{ tools_per_request: [['f'], ['f']] }, { tools_per_request: [['f'], ['f', 'g']] }],
    [{ executed_count: 1 }, { executed_count: 0 }],
    [{ executed: [{ name: 'f', arguments: { a: 1 } }] }, { executed: [{ name: 'f', arguments: { a: 2 } }] }],
    [
      { content: 'Done.', usage: { total_tokens: 4 } },
      { content: null, usage: { total_tokens: 4 } }
    ],
    [
      { content: { contains: ['Do', 'ne'] }, usage: { total_tokens: 4 } },
      { content: { starts_with: 'one' }, usage: { total_tokens: 4 } }
    ],
    [{ pieces: ['Do', 'ne.'] }, { pieces: ['Done.'] }, { replies: [{ ...reply, pieces: ['Do', 'ne.'] }] }],
    [{ finish_reason: 'stop' }, { finish_reason: 'length' }],
    [
      { content_json: { a: 1 } },
      { content_json: { a: 2 } },
      { replies: [{ ...reply, content: '```json\n{"a":1}\n```' }] }
    ],
    [{ content_only_valid_json: false }, { content_only_valid_json: true }],
    [
      { tool_calls: [short('c1')] },
      { tool_calls: [short('c2')] },
      { replies: [{ ...reply, calls: [short('c1', '{"a": 1}')] }] }
    ],
    [{ tool_calls: [short('c1')] }, { tool_calls: [] }, { replies: [{ ...reply, calls: [short('call_minted')] }] }],
    [
      {
        loopgate: {
          finish: 'tool_call_limit',
          limit: { tool: null, max: 2 },
          partial_results: [{ id: 'c1', content: '{"u":1}' }]
        }
      },
      { loopgate: { partial_results: [] } },
      { replies: [{ ...reply, loopgate: report }] }
    ],
    [{ loopgate: { partial_results: [] } }, { loopgate: { finish: 'x' } }, { replies: [{ ...reply, loopgate: {} }] }],
    [{ usage: { total_tokens: 4, cached_tokens: 0 } }, { usage: { total_tokens: 4, cached_tokens: 1 } }],
    [{ content: 'Done.' }, { content: 'Done.', usage: { total_tokens: 1 } }, { replies: [withoutUsage()] }],
    [{ audit_usage: { total_tokens: 4 } }, { audit_usage: { total_tokens: 5 } }],
    [{ audit_status: 200 }, { audit_status: 499 }],
    [
      { error: { status: 400, code: 'session_required', in_stream: false, x_should_retry: 'false' } },
      { error: { status: 502 } },
      { replies: [failed] }
    ],
    [{ error: {} }, { status: 400 }, { replies: [failed] }],
    [{ rounds: [{ finish_reason: 'stop' }] }, { rounds: [{ finish_reason: 'tool_calls' }] }],
    [{ memory: sent }, { memory: asked }],
    [{ index: { builds: 1, searches: 2 } }, { index: { builds: 2 } }],
    [{ augmented: [{ tool: 'f', values: { why: 'x' } }] }, { augmented: [] }],
    [{ cancelled: false }, { cancelled: true }],
    [
      { search_tool_has_no: ['other'] },
      { search_tool_has_no: ['a'] },
      { requests: [{ messages: [], tools: [{ ...tool, name: 'toolSearchTool' }] }] }
    ]
  ]
  for (const [right, wrong, turn] of pairs) {
    t.equal(judged(right, turn), 0, JSON.stringify(right))
    t.equal(judged(wrong, turn), 1, JSON.stringify(wrong))
  }
  t.equal(judged({ unheard: 1 }), 1, 'a field that nobody knows')
  t.equal(judged({ content: 'Done.' }), 1, 'usage where the expectation has a content and none')
})

function withoutUsage(): ReplySaw {
  const { usage: _, ...rest } = reply
  return rest
}

t.test('messages are equal up to renamed ids, white space around system texts and the spelling of JSON', async t => {
  const assistant = (content: unknown, ...calls: object[]) => ({ role: 'assistant', content, tool_calls: calls })
  const result = (id: string, content: unknown = '{"u":1}') => ({ role: 'tool', tool_call_id: id, content })
  const same = (expected: object[], actual: object[]) =>
    judged({ memory: expected }, { memory: actual.map(message => ({ ...message })) }) === 0
  t.ok(
    same(
      [assistant('', short('c1')), result('c1')],
      [assistant(null, call('c1', '{ "a": 1 }')), result('c1', '{"u": 1}')]
    )
  )
  t.ok(same([assistant('', short('c1')), result('c1')], [assistant(null, call('fresh')), result('fresh')]), 'renamed')
  t.ok(
    same(
      [assistant('', short('c1')), result('c1'), assistant('', short('c1')), result('c1')],
      [assistant('', call('c1')), result('c1'), assistant('', call('c1_2')), result('c1_2')]
    ),
    'an id said twice'
  )
  t.notOk(same([assistant('', short('c9')), result('c9')], [assistant('', call('c1')), result('c1')]), 'a given id')
  t.notOk(same([assistant('', short('c1')), result('c1')], [assistant('', call('x')), result('y')]), 'another call')
  t.notOk(same([assistant('', short('c1'))], [assistant('text', call('c1'))]))
  t.ok(same([{ role: 'system', content: '\nS' }], [{ role: 'system', content: 'S\n' }]))
  t.notOk(same([{ role: 'user', content: '\nS' }], [{ role: 'user', content: 'S' }]))
  t.ok(same([{ role: 'user', content: 'S' }], [{ role: 'user', content: [{ type: 'text', text: 'S' }] }]), 'parts')
  t.ok(same([assistant('', short('c1')), { ...result('c1'), name: 'f' }], [assistant('', call('c1')), result('c1')]))
  t.notOk(same([assistant('', short('c1')), { ...result('c1'), name: 'g' }], [assistant('', call('c1')), result('c1')]))
  t.notOk(same([{ role: 'user', content: 'S', reasoning_content: 'r' }], [{ role: 'user', content: 'S' }]))
})

t.test('marks in recorded texts stand for the texts of this gateway', async t => {
  const fits = (content: unknown, actual: string) =>
    judged({ content, usage: { total_tokens: 4 } }, { replies: [{ ...reply, content: actual }] }) === 0
  t.ok(fits('{{limit tool=f max=2}}', 'Limit reached: f may be called at most 2 times in one turn.'))
  t.notOk(fits('{{limit tool=f max=2}}', 'Limit reached: f may be called at most 3 times in one turn.'))
  t.ok(fits('{{limit total max=2}}', 'Limit reached: at most 2 tool calls in one turn.'))
  t.ok(fits('{{tool-failed tool=f class=X}}', 'The tool f failed.'))
  t.ok(fits('Q\n{{validation-error not-json}}', 'Q\nThe answer was not accepted: why.'))
  t.notOk(fits('Q\n{{validation-error not-json}}', 'The answer was not accepted: why.'))
  const schema =
    '{"type":"object","properties":{"sku":{"type":"string"},"units":{"type":"integer"}},"required":["sku","units"],"additionalProperties":false}'
  t.ok(fits('Q\n{{format-instructions}}', `Q\nAnswer as ${schema} says.`))
  t.notOk(fits('Q\n{{format-instructions}}', 'Q\nAnswer in JSON.'))
  t.notOk(fits('{{unheard}}', 'x'))
  t.ok(fits({ json_array_of: 2, json_array_first: 'a' }, '["a","b"]'))
  t.notOk(fits({ json_array_of: 1 }, '["a","b"]'))
  t.notOk(fits({ unheard: 1 }, 'x'))
})

t.test('recorded values hold where they are adopted, each unless another is given in its place', async t => {
  const brief = sent.map(message => ('tool_calls' in message ? { ...message, tool_calls: [short('c1')] } : message))
  const recorded = {
    requestsSeen: [
      { stream: false, messages: asked, tools: ['f'] },
      { stream: false, messages: brief, tools: ['f'] }
    ],
    toolCallsExecuted: [{ name: 'f', arguments: { a: 1 } }],
    callerSaw: { content: 'Done.', finish_reason: 'STOP', usage: { total_tokens: 4 } },
    memoryAfter: [
      asked[0],
      { role: 'assistant', content: '', tool_calls: [short('c1')] },
      { role: 'tool', responses: [{ tool_call_id: 'c1', name: 'f', content: '7' }] }
    ],
    toolIndexOps: { indexed: 1, cleared: 9, searched: 2 }
  }
  const source = (turn: object, expect: object) => ({
    fixture: { ...fixture, turns: [{ ...fixture.turns[0], ...recorded, ...turn }] },
    overlay: { adopt: 'same', expect: { turns: [expect] } }
  })
  const same = (turn: object, expect: object = {}) =>
    judgeLoop(loopCase('1', source(turn, expect), [], 'recorded'), seen())
  t.strictSame(same({}), [])
  t.equal(same({ callerSaw: { ...recorded.callerSaw, content: 'Other.' } }).length, 1)
  t.strictSame(same({ callerSaw: { ...recorded.callerSaw, content: 'Other.' } }, { content: 'Done.' }), [])
  t.strictSame(
    same(
      { requestsSeen: recorded.requestsSeen.map(one => ({ ...one, tools: ['g'] })) },
      { tools_per_request: [['f'], ['f']] }
    ),
    []
  )

  const one = loopCase('1', source({}, { status: 200 }), [], 'recorded')
  const paths = falsifiedLoop(one).map(({ path }) => path)
  for (const path of [
    'expect.turns[0].status',
    'turns[0].callerSaw.usage.total_tokens',
    'turns[0].memoryAfter[2].responses[0].name',
    'turns[0].requestsSeen[1].messages[1].tool_calls[0].id'
  ]) {
    t.ok(paths.includes(path), path)
  }
  t.strictSame([...new Set(uncompared(one))], ['turns[].requestsSeen[].stream', 'turns[].toolIndexOps.cleared'])
  for (const wrong of falsifiedLoop(one)) t.not(judgeLoop(wrong.case, seen()).length, 0, `${wrong.path} is found`)

  const none = loopCase('1', { fixture: { ...fixture, adopt: 'differ' } }, [], 'recorded')
  t.match(none.fault, 'nothing for this case')
})

t.test('a refused start is what its case expects, and a failure of all others', async t => {
  const refused: LoopObservation = { start: 'refused', exit: 1, output: 'why', requestsCount: 0, turns: [] }
  const of = (start: object) => loopCase('1', { fixture, overlay: { adopt: 'same', expect: start } }, [], 'recorded')
  t.strictSame(judgeLoop(of({ start: 'refused', exit: 1, requests_count: 0 }), refused), [])
  t.equal(judgeLoop(of({ start: 'refused', exit: 4, requests_count: 1 }), refused).length, 2)
  t.equal(judgeLoop(of({ start: 'refused' }), seen()).length, 1)
  t.match(judgeLoop(caseOf({ status: 200 }), refused), ['the start was refused: why'])
})
