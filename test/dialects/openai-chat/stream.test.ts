import t from 'tap'
import type { Answer, Delta } from '../../../src/core/chat.ts'
import { GatewayError } from '../../../src/core/errors.ts'
import { errorBody } from '../../../src/dialects/openai-chat/errors.ts'
import { ChunkWriter } from '../../../src/dialects/openai-chat/stream.ts'
import { anAnswer } from '../../helper/an-answer.ts'
import { framesOf } from '../../helper/edge.ts'
import { refusal } from '../../helper/refusal.ts'

const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'sim' }

function streamed(deltas: readonly Delta[], answer: Answer, includeUsage = false, report?: Record<string, unknown>) {
  const writer = new ChunkWriter(head, { includeUsage })
  const text = writer.start() + deltas.map(delta => writer.delta(delta)).join('') + writer.end(answer, report)
  return framesOf(text)
}

t.test('stream: role once, constant head, one finish, usage last, then [DONE] (W4, W5, W7, W8, W9)', async t => {
  const usage = { prompt: 1, completion: 2, total: 3 }
  const deltas: Delta[] = [
    { type: 'reasoning', text: 'hm', field: 'reasoning' },
    { type: 'text', text: '' },
    { type: 'text', text: 'a\n"\u2028é', logprobs: { content: [{ token: 'a' }] } },
    { type: 'refusal', text: 'no' },
    { type: 'fields', fields: { annotations: [1], role: 'assistant', content: 'twice' } }
  ]
  const fields = { system_fingerprint: 'fp' }
  const chunks = streamed(deltas, anAnswer({}, { usage, choice: { fields } }), true, { finish: 'stop' })
  t.equal(chunks.at(-1), '[DONE]')
  const bodies = chunks.slice(0, -1)
  for (const { id, object, created, model, choices } of bodies) {
    t.match({ id, object, created, model }, { ...head, object: 'chat.completion.chunk' })
    t.ok(Array.isArray(choices))
  }
  t.strictSame(
    bodies.flatMap(({ choices }) => choices),
    [
      { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
      { index: 0, delta: { reasoning_content: 'hm' }, finish_reason: null },
      { index: 0, delta: { content: 'a\n"\u2028é' }, logprobs: { content: [{ token: 'a' }] }, finish_reason: null },
      { index: 0, delta: { refusal: 'no' }, finish_reason: null },
      { index: 0, delta: { annotations: [1] }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: 'stop' }
    ]
  )
  t.strictSame(
    bodies.map(({ usage }) => usage),
    [null, null, null, null, null, null, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }]
  )
  t.equal(bodies.at(-2).system_fingerprint, 'fp')
  t.strictSame(bodies.at(-1).loopgate, { finish: 'stop' })
})

t.test('stream: no usage asked, none said; asked but unknown, no usage chunk (W8)', async t => {
  const usage = { prompt: 1, completion: 2, total: 3 }
  t.notOk(streamed([], anAnswer({}, { usage })).some(chunk => 'usage' in Object(chunk)))
  t.equal(streamed([], anAnswer(), true).length, 3)
})

/** What an SDK adds up; fails on what SDKs fail on: a repeated head, a piece of a call that is over. */
function callsOf(chunks: readonly { choices?: { delta: { tool_calls?: Record<string, never>[] } }[] }[]) {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const piece of chunks.flatMap(({ choices }) => choices?.flatMap(({ delta }) => delta.tool_calls ?? []) ?? [])) {
    const {
      index,
      id,
      type,
      function: fn
    } = piece as never as {
      index: number
      id?: string
      type?: string
      function: { name?: string; arguments: string }
    }
    if (id !== undefined) {
      if (index !== calls.length || type !== 'function' || !fn.name) throw new Error('a bad head')
      calls.push({ id, name: fn.name, arguments: fn.arguments })
    } else {
      if (index !== calls.length - 1 || fn.name !== undefined || type !== undefined) throw new Error('a bad piece')
      const call = calls[index]
      if (call) call.arguments += fn.arguments
    }
  }
  return calls
}

const piece = (index: number, text: string, name?: string): Delta => ({
  type: 'call',
  index,
  arguments: text,
  ...(name && { id: `c${index}`, name })
})

t.test('stream: interleaved calls leave one after another (W6)', async t => {
  const calls = [
    { id: 'c0', name: 'f', arguments: '{"city":"Oslo"}' },
    { id: 'c1', name: 'g', arguments: '{"city":"Rome"}' },
    { id: 'c2', name: 'h', arguments: '' }
  ]
  const deltas = [
    piece(0, '', 'f'),
    piece(1, '', 'g'),
    piece(0, '{"city"'),
    piece(1, '{"city":'),
    piece(2, '', 'h'),
    piece(0, ':"Oslo"}'),
    piece(1, '"Rome"}')
  ]
  t.strictSame(callsOf(streamed(deltas, anAnswer({ calls, content: '' }, { finish: 'client_calls' }))), calls)
})

t.test('stream: a call goes out as it comes, the next as soon as the one before is whole', async t => {
  const writer = new ChunkWriter(head)
  t.match(framesOf(writer.delta(piece(0, '{"a":', 'f'))), [{}, {}])
  t.equal(writer.delta(piece(1, '{"b', 'g')), '', 'the first is not over')
  t.equal(framesOf(writer.delta(piece(0, '1}'))).length, 1)
  const released = framesOf(writer.delta(piece(1, '":2}')))
  t.strictSame(
    callsOf([
      {
        choices: [
          {
            delta: {
              tool_calls: [{ index: 0, id: 'c0', type: 'function', function: { name: 'f', arguments: '' } } as never]
            }
          }
        ]
      },
      ...released
    ]).at(-1),
    {
      id: 'c1',
      name: 'g',
      arguments: '{"b":2}'
    }
  )
  t.equal(writer.delta(piece(0, ' \n')), '', 'white space after a whole call is nothing')
  const calls = [
    { id: 'c0', name: 'f', arguments: '{"a":1}' },
    { id: 'c1', name: 'g', arguments: '{"b":2}' }
  ]
  t.equal(callsOf(framesOf(writer.end(anAnswer({ calls })))).length, 0, 'nothing is sent twice')
})

t.test('stream: a call that goes on after its arguments were whole cannot be told, and is a failure', async t => {
  const writer = new ChunkWriter(head)
  for (const delta of [piece(0, '{}', 'f'), piece(1, '{}', 'g'), piece(0, '{"a":1}')]) writer.delta(delta)
  t.match(
    refusal(() => writer.end(anAnswer())),
    { code: 'upstream_invalid_response' }
  )
})

t.test('stream: a call without an id waits for the one it is given; a custom call goes whole', async t => {
  const custom = { id: 'c1', type: 'custom', custom: { name: 'grep', input: 'a' } }
  const deltas: Delta[] = [
    { type: 'call', index: 0, name: 'f', arguments: '{}' },
    { type: 'call', index: 1, id: 'c1', name: 'grep', arguments: 'a', extra: custom }
  ]
  const calls = [
    { id: 'call_given', name: 'f', arguments: '{}' },
    { id: 'c1', name: 'grep', arguments: 'a', extra: custom }
  ]
  const sent = streamed(deltas, anAnswer({ calls }))
    .flatMap(({ choices }) => choices ?? [])
    .flatMap(({ delta }) => delta.tool_calls ?? [])
  t.strictSame(sent, [
    { index: 0, id: 'call_given', type: 'function', function: { name: 'f', arguments: '{}' } },
    { index: 1, ...custom }
  ])
})

t.test('stream: other choices come after choice 0 has ended, each with role and finish once (W13)', async t => {
  const others = [{ index: 1, message: { role: 'assistant', content: 'b', refusal: null }, finish_reason: 'length' }]
  const choices = streamed([{ type: 'text', text: 'a' }], anAnswer({}, { choice: { others } })).flatMap(
    ({ choices }) => choices ?? []
  )
  t.strictSame(
    choices.map(({ index, finish_reason }) => [index, finish_reason]),
    [
      [0, null],
      [0, null],
      [0, 'stop'],
      [1, null],
      [1, 'length']
    ]
  )
  t.strictSame(choices[3].delta, { role: 'assistant', content: 'b', refusal: null })
})

t.test(
  'stream: an event rides on a chunk without choices; a failure is one frame and nothing more (W4, W10)',
  async t => {
    const writer = new ChunkWriter(head, { includeUsage: true })
    t.strictSame(framesOf(writer.event({ type: 'round.start', n: 1 })), [
      {
        ...head,
        object: 'chat.completion.chunk',
        choices: [],
        loopgate: { event: { type: 'round.start', n: 1 } },
        usage: null
      }
    ])
    const text = writer.error(new GatewayError('upstream_timeout', 'Too slow.', { phase: 'idle', provider: 'up' }))
    t.equal(
      text,
      'data: {"error":{"message":"Too slow.","type":"upstream_error","param":null,"code":"upstream_timeout",' +
        '"phase":"idle","provider":"up"}}\n\n'
    )
    t.match(
      JSON.parse(errorBody(new GatewayError('upstream_rejected', 'x', { shownCode: 'too_long', upstreamStatus: 422 }))),
      {
        error: { type: 'invalid_request_error', code: 'too_long', upstream_status: 422 }
      }
    )
  }
)
