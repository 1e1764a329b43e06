import t from 'tap'
import { StartRefused, startGateway } from '../src/cases/gateway.ts'
import { loopCase } from '../src/cases/loop/read.ts'
import { chunksOf, completionOf } from '../src/cases/loop/recast.ts'
import { toolServer } from '../src/cases/loop/tool-server.ts'

const call = (id: string, text = '{"a":1}') => ({ id, type: 'function', function: { name: 'f', arguments: text } })
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
const turns = [
  { user: 'hi', modelScript: [completion('Let me see.', [call('c1')]), completion('Done.')], toolResults: {} }
]
const inMode = (expect: object, mode: 'call' | 'stream', config: object = {}) =>
  loopCase('1', { fixture: { config, turns }, overlay: { adopt: 'differ', expect: { turns: [expect] } } }, [], mode)
    .expected.turns

t.test('a start that is refused says why', async t => {
  const error = await startGateway({ config: { version: 1, unheard: true } }).then(
    () => undefined,
    why => why
  )
  t.ok(error instanceof StartRefused)
  t.equal(error.exitCode, 1)
  t.match(error.output, /gateway\.yaml:\d+ unheard/)
})

t.test('in another mode a stream has the preambles before its answer, and a call the last round', async t => {
  const asStream = inMode({ content: 'Done.', requests_count: 2, pieces: ['x'] }, 'stream')
  t.match(asStream, [{ content: 'Let me see.\n\nDone.' }])
  t.notMatch(asStream, [{ pieces: [] }], 'pieces are compared as recorded only')
  const streamed = { stream: true }
  t.match(inMode({ content: 'A. B.', content_last: 'B.' }, 'call', streamed), [{ content: 'B.' }])
  const cut = { error: { status: 200, in_stream: true, code: 'upstream_disconnected' } }
  t.match(inMode(cut, 'call', streamed), [{ error: { status: 502, in_stream: false } }])
  const late = { error: { status: 400, in_stream: false }, requests_count: 2 }
  t.match(inMode(late, 'stream'), [{ error: { status: 200, in_stream: true } }])
})

t.test('a scripted answer says the same in chunks and in one piece', async t => {
  const whole = completion('text', [call('c1'), call('c2', '{"b":2}')])
  const chunks = chunksOf(whole)
  t.match(completionOf(chunks), { choices: whole.choices, usage: whole.usage })
  t.equal(chunksOf(chunks), chunks)
  const error = { status: 500 }
  t.equal(chunksOf(error), error)
  t.match(completionOf({ text: 'x' }), { choices: [{ message: { content: 'x' } }] })
})

t.test('results are given in the order of the calls, not of their arrival', async t => {
  const server = await toolServer()
  t.teardown(server.close)
  server.begin(
    {
      f: [
        { n: 1 },
        'two',
        '{"n":3}',
        { $error: 'runtime', message: 'shut' },
        { $error: 'blank' },
        { $error: 'checked' }
      ]
    },
    () => ['f', 'g', 'f']
  )
  const ask = async (iteration: number, index: number) => {
    const body = JSON.stringify({ data: { call: { iteration, index, arguments: { index } } } })
    const response = await fetch(`${server.url}/tools/f`, { method: 'POST', body })
    return `${response.status} ${await response.text()}`
  }
  const late = ask(1, 2)
  await new Promise(resolve => setTimeout(resolve, 30))
  t.strictSame(await Promise.all([ask(1, 0), late]), ['200 {"n":1}', '200 "two"'])
  t.equal(await ask(2, 0), '200 {"n":3}')
  t.strictSame(
    [await ask(3, 0), await ask(4, 0), await ask(5, 0), await ask(6, 0)],
    ['422 {"error":{"message":"shut"}}', '422 ', '500 ', '500 ']
  )
  t.match(server.executed().slice(0, 2), [{ arguments: { index: 0 } }, { arguments: { index: 2 } }])
})
