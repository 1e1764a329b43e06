import t from 'tap'
import { STATE_SCENARIOS, state } from '../../src/bench/state.ts'

t.setTimeout(300_000)

t.test('a short run of the bench of what is kept has figures for each kind of turn, in memory and on disk', async t => {
  const { memory, disk, over_memory_us, over_stateless_us } = await state({
    rounds: 1,
    warmupMs: 200,
    measureMs: 200
  })
  for (const scenario of STATE_SCENARIOS) {
    t.ok(memory[scenario].cpu_us > 0 && disk[scenario].cpu_us > 0, scenario)
    t.ok(Number.isFinite(over_memory_us[scenario]))
  }
  t.ok(Number.isFinite(over_stateless_us.plain) && Number.isFinite(over_stateless_us.tool))
})
