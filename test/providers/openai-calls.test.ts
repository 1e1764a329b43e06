/** Tool calls out of deltas of every kind: spec/wire.md §2.3.7, over real sockets. */
import t from 'tap'
import type { Delta, ToolCall } from '../../src/core/chat.ts'
import { ask, body, calls, fn, head, streamed } from './ask.ts'
import { chunk, DONE } from './scripted-server.ts'

const CALLS: Record<string, { chunks: string[]; want: Partial<ToolCall>[] }> = {
  'index missing, one call': {
    chunks: [calls({ id: 'a', type: 'function', function: fn('f', '{"x":1}') })],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'index missing, a new id opens a new call': {
    chunks: [calls({ id: 'a', function: fn('f', '{}') }), calls({ id: 'b', function: fn('g', '{}') })],
    want: [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{}' }
    ]
  },
  'index missing, known ids and tails without any': {
    chunks: [
      calls({ id: 'a', function: fn('f', '{') }),
      calls({ id: 'b', function: fn('g', '{') }),
      calls({ id: 'a', function: fn(undefined, '}') }),
      calls({ function: fn(undefined, '}') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{}' }
    ]
  },
  'neither index nor id: names tell calls apart': {
    chunks: [
      calls({ function: fn('f', '{"x":') }),
      calls({ function: fn('f', '1}') }),
      calls({ function: fn('f', '{"x":2}') }),
      calls({ function: fn('g', '{}') })
    ],
    want: [
      { name: 'f', arguments: '{"x":1}' },
      { name: 'f', arguments: '{"x":2}' },
      { name: 'g', arguments: '{}' }
    ]
  },
  'same index, two ids': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '1') }),
      calls({ index: 0, id: 'b', function: fn('g', '2') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '1' },
      { id: 'b', name: 'g', arguments: '2' }
    ]
  },
  'same index for all, tails without id belong to the newest': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '') }),
      calls({ index: 0, function: fn(undefined, '{"x":1}') }),
      calls({ index: 0, id: 'b', function: fn('g', '') }),
      calls({ index: 0, function: fn(undefined, '{"y":2}') })
    ],
    want: [
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: '{"y":2}' }
    ]
  },
  'second head under the wrong index, its tail under the next': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '1') }),
      calls({ index: 0, id: 'b', function: fn('f', '') }),
      calls({ index: 1, function: fn(undefined, '2') }),
      calls({ index: 1, function: fn(undefined, '3') })
    ],
    want: [
      { id: 'a', arguments: '1' },
      { id: 'b', arguments: '23' }
    ]
  },
  'id and name repeated in each fragment': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{') }),
      calls({ index: 0, id: 'a', function: fn('f', '}') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{}' }]
  },
  'placeholder ids and names': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{') }),
      calls({ index: 0, id: 'null', function: fn('', '"x":') }),
      calls({ index: 0, id: '', function: fn('', '1}') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'one id under two indexes is two calls': {
    chunks: [
      calls({ index: 0, id: 'd', function: fn('f', '1') }),
      calls({ index: 1, id: 'd', function: fn('f', '2') })
    ],
    want: [
      { id: 'd', arguments: '1' },
      { id: 'd', arguments: '2' }
    ]
  },
  'indexes that begin at 1 and interleave': {
    chunks: [
      calls({ index: 1, id: 'a', function: fn('f', '') }, { index: 2, id: 'b', function: fn('g', '') }),
      calls({ index: 2, function: fn(undefined, '2') }, { index: 1, function: fn(undefined, '1') })
    ],
    want: [
      { id: 'a', arguments: '1' },
      { id: 'b', arguments: '2' }
    ]
  },
  'two calls in one chunk': {
    chunks: [calls({ index: 0, id: 'a', function: fn('f', '1') }, { index: 1, id: 'b', function: fn('g', '2') })],
    want: [
      { id: 'a', name: 'f' },
      { id: 'b', name: 'g' }
    ]
  },
  'arguments before the name': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn(undefined, '{"x":') }),
      calls({ index: 0, function: fn(undefined, '1}') }),
      calls({ index: 0, function: fn('f') })
    ],
    want: [{ id: 'a', name: 'f', arguments: '{"x":1}' }]
  },
  'arguments null, absent or an object': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', null) }),
      calls({ index: 1, id: 'b', function: fn('f') }),
      calls({ index: 2, id: 'c', function: fn('f', { x: 1 }) })
    ],
    want: [
      { id: 'a', arguments: '' },
      { id: 'b', arguments: '' },
      { id: 'c', arguments: '{"x":1}' }
    ]
  },
  'fields beside the function are kept': {
    chunks: [
      calls({ index: 0, id: 'a', function: fn('f', '{}'), extra_content: { google: { thought_signature: 's' } } })
    ],
    want: [{ id: 'a', extra: { extra_content: { google: { thought_signature: 's' } } } }]
  },
  'a custom tool': {
    chunks: [
      calls({ index: 0, id: 'a', type: 'custom', custom: { name: 'sql', input: 'select ' } }),
      calls({ index: 0, custom: { input: '1' } })
    ],
    want: [
      {
        id: 'a',
        name: 'sql',
        arguments: 'select 1',
        extra: { type: 'custom', custom: { name: 'sql', input: 'select 1' } }
      }
    ]
  },
  'the old function_call': {
    chunks: [chunk({ function_call: fn('f', '{') }), chunk({ function_call: fn(undefined, '}') })],
    want: [{ name: 'f', arguments: '{}' }]
  }
}

t.test('calls are put together from deltas of every kind', async t => {
  for (const [title, { chunks, want }] of Object.entries(CALLS)) {
    const { answer, heard } = await ask(streamed(head, ...chunks, chunk({}, 'tool_calls'), DONE))
    t.match(answer?.message.calls, want, title)
    t.equal(answer?.message.calls.length, want.length, `${title}: as many`)
    t.equal(answer?.finish, 'stop', `${title}: the loop decides by the presence of calls`)
    t.ok(
      answer?.message.calls.every(({ id }) => id !== ''),
      `${title}: each has an id`
    )
    const bare = answer?.message.calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }))
    t.same(assembled(heard), bare, `${title}: the pieces add up to the same`)
  }
})

/** The pieces as a client adds them up: the first of a call must name it. */
function assembled(heard: readonly Delta[]): unknown[] {
  const all: { id: string; name: string; arguments: string }[] = []
  for (const delta of heard) {
    if (delta.type !== 'call') continue
    const call = all[delta.index]
    if (call !== undefined) call.arguments += delta.arguments
    else all[delta.index] = { id: delta.id ?? 'MISSING', name: delta.name ?? 'MISSING', arguments: delta.arguments }
  }
  return all
}

t.test('a call that is never named is a failure, unless the length cut it off', async t => {
  const nameless = calls({ index: 0, id: 'a', function: fn(undefined, '{"x"') })
  const { error } = await ask(streamed(nameless, chunk({}, 'tool_calls'), DONE))
  t.equal(error?.code, 'upstream_invalid_response')
  const { answer } = await ask(streamed(chunk({ content: 'hi' }), nameless, chunk({}, 'length'), DONE))
  t.equal(answer?.finish, 'length')
  t.same(answer?.message.calls, [])
})

t.test('calls of a JSON answer are one per entry, whatever they lack', async t => {
  const message = { content: null, tool_calls: [{ function: fn('f', '{}') }, { function: fn('f', '{"x":1}') }] }
  for (const stream of [true, false]) {
    const { answer, heard } = await ask(body({ choices: [{ message, finish_reason: 'tool_calls' }] }), { stream })
    t.match(answer?.message.calls, [
      { name: 'f', arguments: '{}' },
      { name: 'f', arguments: '{"x":1}' }
    ])
    t.equal(heard.length, stream ? 2 : 0)
  }
})
