import t from 'tap'
import { StartRefused, startGateway } from '../src/cases/gateway.ts'

// Starts processes, which takes a while on a busy machine.
t.setTimeout(180_000)

/** What a start with this configuration said; it must end with exit code 1. */
async function refusal(config: Record<string, unknown>): Promise<{ exitCode: number | undefined; output: string }> {
  try {
    const gateway = await startGateway({ config })
    await gateway.stop()
  } catch (error) {
    if (error instanceof StartRefused) return error
    throw error
  }
  return { exitCode: 0, output: 'it started' }
}

t.test(
  'values of a loop, of limits and of tool search that cannot be are refused together, each by its place',
  async t => {
    const { exitCode, output } = await refusal({
      loop: { max_parallel: 0 },
      limits: { max_calls_per_tool: -2, max_calls: 'many', on_limit: 'explode', per_tool: { a: -2 } },
      tool_search: { mode: 'sometimes', max_results: 0, views: { max: -2, ttl_ms: 0 }, treshold: 1 },
      chain: { turn: 'memory' }
    })
    t.equal(exitCode, 1)
    for (const place of [
      'loop.max_parallel',
      'limits.max_calls_per_tool',
      'limits.max_calls',
      'limits.on_limit',
      'limits.per_tool.a',
      'tool_search.mode',
      'tool_search.max_results',
      'tool_search.views.max',
      'tool_search.views.ttl_ms',
      'tool_search.treshold',
      'chain.turn'
    ]) {
      t.match(output, place)
    }
  }
)

t.test(
  'a chain that cannot be is refused by the place and the name: the loop stands in no list, and there is one',
  async t => {
    const { exitCode, output } = await refusal({
      chain: {
        turn: ['memory', 'tool-loop', 'meter', 'audit'],
        call: ['tool-search', 'tool-loop', 'audit', 'retyr']
      }
    })
    t.equal(exitCode, 1)
    t.match(output, /chain\.turn\[1\].*tool-loop may not be listed/)
    t.match(output, /chain\.turn\[2\].*meter belongs under call/)
    t.match(output, /chain\.call\[1\].*tool-loop/)
    t.match(output, /chain\.call\[2\].*audit is listed twice/)
    t.match(output, /chain\.call\[3\].*no advisor named retyr/)
  }
)

t.test('a loop or an index that there is not, and two tools of one name, are refused by name', async t => {
  const named = await refusal({ chain: { loop: 'my-loop' }, tool_search: { index: 'vector' } })
  t.equal(named.exitCode, 1)
  t.match(named.output, /chain\.loop.*my-loop/)
  t.match(named.output, /tool_search\.index.*vector.*lexical, regex/)
  const tool = (name: string) => ({ name, endpoint: { url: 'https://tools.example.com/x' } })
  const twice = await refusal({ tools: [tool('stock'), tool('Stock')] })
  t.equal(twice.exitCode, 1)
  t.match(twice.output, /tools\[1\]\.name.*is the name of tools\[0\] too/)
})
