import t from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import { revise } from '../../src/core/turn.ts'
import { codeTool } from '../../src/plugins/code-tool.ts'
import { aTurn, scripted, silent } from '../helper/turn.ts'

/** The answer of a turn in which the tool is called once, and what the model was shown of the result. */
async function called(run: () => unknown, returnDirect: boolean) {
  const code = {
    name: 'stock',
    description: 'Units in the warehouse',
    input_schema: { type: 'object' },
    return_direct: returnDirect,
    run
  }
  const services = { log: silent, model: () => Promise.reject(new Error('no model')) as never }
  const tool = codeTool(code, { options: undefined, services, maxModelBytes: 1000, augment: [] })
  const model = scripted([{ calls: [{ id: '1', name: 'stock', arguments: '' }] }, { text: 'Seen.' }])
  const { message, finish } = await toolLoop({ guards: [] }).advise(
    revise(aTurn(), { tools: new Map([[tool.name, tool]]) }),
    model
  )
  return { said: message.content, finish, shown: model.seen[1]?.prompt.messages.at(-1)?.content }
}

t.test('what a tool in code gives is shown to the model: text as it is, all else as JSON', async t => {
  const results: readonly [unknown, string][] = [
    [{ units: 17 }, '{"units":17}'],
    [17, '17'],
    [null, 'null'],
    ['seventeen', 'seventeen'],
    [undefined, '(no content)']
  ]
  for (const [result, shown] of results) {
    t.strictSame(await called(() => result, false), { said: 'Seen.', finish: 'stop', shown })
  }
})

t.test('with return_direct it is the answer, and nothing is an empty one', async t => {
  const direct = (said: string) => ({ said, finish: 'return_direct', shown: undefined })
  t.strictSame(await called(async () => ({ units: 17 }), true), direct('{"units":17}'))
  t.strictSame(await called(() => undefined, true), direct(''))
})
