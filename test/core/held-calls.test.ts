import t from 'tap'
import type { Tool } from '../../src/core/chat.ts'
import { heldCalls } from '../../src/core/held-calls.ts'
import { revise } from '../../src/core/turn.ts'
import { bench, play, search } from '../helper/search-bench.ts'
import { aTurn } from '../helper/turn.ts'

/** What running a call of the tool twice would do, as it is stored. */
function effectOf(tool: Tool) {
  const call = { id: '1', name: tool.name, arguments: '{}' }
  const batch = [{ role: 'assistant', id: 'msg_1', content: '', calls: [call] }] as const
  return heldCalls(revise(aTurn(), { tools: new Map([[tool.name, tool]]) }), batch, [])[0]?.effect
}

t.test('only what a tool says of itself allows a call of it to be run again', async t => {
  for (const kind of ['builtin', 'webhook'] as const) {
    const tool = { name: 'pay', kind, run: async () => ({ content: '', status: 'ok' as const }) }
    t.equal(effectOf(tool), 'write', kind)
    t.equal(effectOf({ ...tool, annotations: {} }), 'write')
    t.equal(effectOf({ ...tool, annotations: { destructive: true } }), 'write')
    t.equal(
      effectOf({ ...tool, annotations: { readOnly: true, destructive: true } }),
      'write',
      'the graver word counts'
    )
    t.equal(effectOf({ ...tool, annotations: { idempotent: true } }), 'idempotent')
    t.equal(effectOf({ ...tool, annotations: { readOnly: true } }), 'read')
  }
})

t.test('a search may be made again', async t => {
  const { seen } = await play(await bench(), [{ calls: [search('stock')] }, { text: 'ok' }])
  const tool = seen[0]?.prompt.tools.get('toolSearchTool')
  t.equal(tool && effectOf(tool), 'read')
})
